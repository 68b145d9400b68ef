//go:build synctests

package kafka

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/internal/oracle"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// judge compares what there is with what must be.
func (s *simulation) judge() {
	if s.t.Failed() {
		return
	}
	l := s.published()
	l.Outcomes, l.Signals = s.whole(topics.Outcomes, l.Outcomes), s.whole(topics.Signals, l.Signals)
	for _, text := range simPolicies {
		l.Policies = append(l.Policies, policies(s.t, text))
	}
	l.Lost = slices.Collect(maps.Values(s.lost))
	if !s.hung.IsZero() {
		l.Backlog = time.Minute // Signals do not wait for what nobody can read.
	}
	want, err := oracle.Check(l)
	if err != nil {
		s.t.Errorf("what was published is not what had to be:\n%v", err)
		return
	}
	if same, err := oracle.Audited(l); err != nil || same != int64(want.Count()) {
		s.t.Errorf("%d of %d transitions audited: %v", same, want.Count(), err)
	}
	s.judgeAltered(l)
	s.judgeAcknowledged(want)
	s.judgeLeases(l.Transitions)
	s.judgeLog()
	s.noteEffects(l.Transitions)
	s.judgeProgress(l.Changelog)
	for _, i := range s.instances {
		s.judgeStore(i, l)
	}
	s.judgeMetrics(want, slices.ContainsFunc(l.States, func(r *kgo.Record) bool { return r.Value == nil }))
}

// judgeAltered looks whether an audit finds what was altered: three times one published record.
func (s *simulation) judgeAltered(l *oracle.Log) {
	rng := s.rng(300)
	reports, err := oracle.AuditFrom(l, rng)
	for _, report := range reports {
		s.tally.add("records audited from somewhere on", int(report.Same))
		for _, d := range report.Differences {
			s.t.Errorf("an audit from somewhere on finds %+v", d)
		}
	}
	if err != nil {
		s.t.Error(err)
	}
	for range 3 {
		altered, record, how := oracle.Altered(l, rng)
		if err := oracle.Found(altered, record, how); err != nil {
			s.t.Errorf("what was altered is not found: %v", err)
		}
	}
}

// keepInputs keeps what is on the inputs, before some of it is deleted.
func (s *simulation) keepInputs() {
	for _, topic := range []string{topics.Outcomes, topics.Signals} {
		s.kept = append(s.kept, s.ReadCommitted(s.t, topic)...)
	}
}

// whole returns a topic's records with those that were deleted.
func (s *simulation) whole(topic string, left []*kgo.Record) []*kgo.Record {
	for _, r := range s.kept {
		if r.Topic == topic {
			left = append(left, r)
		}
	}
	left = slices.DeleteFunc(left, func(r *kgo.Record) bool { return s.lost[placeOf(r)] != nil })
	order := func(a, b *kgo.Record) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	}
	slices.SortFunc(left, order)
	return slices.CompactFunc(left, func(a, b *kgo.Record) bool { return order(a, b) == 0 })
}

// judgeAcknowledged looks whether every outcome that was acknowledged was told apart under one reason, or set aside.
func (s *simulation) judgeAcknowledged(want *oracle.Expected) {
	total := 0
	for _, n := range want.Outcomes {
		total += n
	}
	for place := range want.Letters {
		if place.Topic == topics.Outcomes {
			total++
		}
	}
	for place := range s.lost {
		if place.Topic == topics.Outcomes {
			total++
		}
	}
	if total < s.acked {
		s.t.Errorf("%d outcomes were acknowledged, and %d handled, set aside or deleted", s.acked, total)
	}
}

// judgeLog looks whether a partition was refused as its changelog and the group's offsets differ, or as an input has
// lost what was handled. Nothing that is played is a reason for that: it is a restore that looked too early.
func (s *simulation) judgeLog() {
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, errDiffer.Error()) || strings.Contains(line, errLost.Error()) {
			s.t.Errorf("a partition was refused: %s", line)
		}
	}
}

// judgeLeases looks whether there were ever more leases than the policy allows, and whether one had two holders. A
// reload leaves those that live, and they may be more than the new policy would grant.
func (s *simulation) judgeLeases(transitions []*kgo.Record) {
	type grant struct {
		circuit, lease string
		epoch          int64
	}
	holders, live := map[grant]string{}, map[string]int{}
	for _, r := range transitions {
		st, err := schemas.DecodeState(r.Value)
		if err != nil || string(r.Key) == schemas.PoliciesKey || st.IsShadow {
			continue
		}
		if n := len(st.Leases); n > max(st.Probe.Concurrency, 1) && n > live[st.Circuit] {
			s.t.Errorf("%s has %d leases at sequence %d, and may have %d", st.Circuit, len(st.Leases), st.Sequence,
				st.Probe.Concurrency)
		}
		live[st.Circuit] = len(st.Leases)
		for _, l := range st.Leases {
			key := grant{st.Circuit + st.Born.String(), l.ID, st.Epoch}
			if holder, any := holders[key]; any && holder != l.Holder {
				s.t.Errorf("lease %s of %s was %s's and became %s's", l.ID, st.Circuit, holder, l.Holder)
			}
			holders[key] = l.Holder
		}
	}
}

// judgeProgress looks whether the transactions of a partition came one after the other, whoever wrote them: what was
// fenced says nothing any more.
func (s *simulation) judgeProgress(changelog []*kgo.Record) {
	last := map[int32]progress{}
	for _, r := range changelog {
		if string(r.Key) != progressKey {
			continue
		}
		now, err := readProgress(r.Value)
		before := last[r.Partition]
		if err != nil || now.Number <= before.Number ||
			now.Outcomes.Next < before.Outcomes.Next || now.Signals.Next < before.Signals.Next {
			s.t.Errorf("progress of partition %d, offset %d: %+v comes after %+v: %v",
				r.Partition, r.Offset, now, before, err)
		}
		last[r.Partition] = now
	}
}

// judgeStore looks whether what an instance has on disk is what the changelog says up to its position.
func (s *simulation) judgeStore(i *instance, l *oracle.Log) {
	store, err := s.openStore(i.dir)
	if err != nil {
		s.t.Errorf("open the store of %s: %v", i.name, err)
		return
	}
	defer store.Close()
	for id := range s.partitions {
		at, known, err := store.Position(id)
		if err != nil || !known || at.Offset >= beyond {
			continue // It has not been used since it was set there.
		}
		want, behind := s.upTo(l.Changelog, id, at.Offset)
		if behind {
			continue // What lay there may be compacted away.
		}
		got := map[string][]byte{}
		err = store.Each(id, func(circuit string, value []byte) error {
			got[strings.Clone(circuit)] = bytes.Clone(value)
			return nil
		})
		if err != nil {
			s.t.Errorf("read the store of %s: %v", i.name, err)
		}
		for circuit, value := range want {
			if !bytes.Equal(got[circuit], value) {
				s.t.Errorf("the store of %s at offset %d of partition %d has another value of %q than the changelog",
					i.name, at.Offset, id, circuit)
			}
			delete(got, circuit)
		}
		for circuit := range got {
			s.t.Errorf("the store of %s knows %q in partition %d, and the changelog does not", i.name, circuit, id)
		}
	}
}

// upTo returns the newest values of a partition of the changelog below an offset, and whether more come after it.
func (s *simulation) upTo(changelog []*kgo.Record, partition int32, offset int64) (map[string][]byte, bool) {
	values, behind := map[string][]byte{}, false
	for _, r := range changelog {
		switch {
		case r.Partition != partition || string(r.Key) == progressKey:
		case r.Offset >= offset:
			behind = true
		case r.Value == nil:
			delete(values, string(r.Key))
		default:
			values[string(r.Key)] = r.Value
		}
	}
	return values, behind && s.compacts
}

// judgeMetrics compares what the instances have counted with what became of the outcomes, where no process died. With a
// circuit that was forgotten go its series.
func (s *simulation) judgeMetrics(want *oracle.Expected, forgotten bool) {
	if s.uncounted {
		return
	}
	handled, counted := 0, map[string]float64{}
	for _, why := range processor.Whys {
		handled += want.Outcomes[why]
		if n := want.Counts[why]; n > 0 {
			counted[why.String()] = float64(n)
		}
	}
	if got := s.handled(s.lives); got != handled {
		s.t.Errorf("fusebox_records_total says %d outcomes were handled, want %d", got, handled)
	}
	s.took("metrics compared")
	if s.counted != nil && !forgotten && !maps.Equal(s.counted, counted) {
		s.t.Errorf("fusebox_outcomes_total says %v, want %v", s.counted, counted)
	}
}

// count notes what the only worker there is has counted by now. Series go when a partition does.
func (s *simulation) count() {
	again := strings.Count(s.log.String(), "partition restored") != int(s.partitions)
	if len(s.lives) != 1 || s.plan.workers[0] != 1 || s.uncounted || again {
		return
	}
	s.counted = map[string]float64{}
	all := make(chan prometheus.Metric)
	go func() {
		defer close(all)
		s.lives[0].process.metrics.outcomes.Collect(all)
	}()
	for one := range all {
		var m dto.Metric
		if err := one.Write(&m); err != nil {
			s.t.Errorf("Write: %v", err)
		}
		for _, l := range m.Label {
			if l.GetName() == "result" {
				s.counted[l.GetValue()] += m.Counter.GetValue()
			}
		}
	}
	s.took("metrics of circuits compared")
}
