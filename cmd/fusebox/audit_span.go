package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/internal/offsets"
	"github.com/fusebox-project/fusebox/processor/audit"
	"github.com/fusebox-project/fusebox/processor/kafka"
	"github.com/fusebox-project/fusebox/schemas"
)

// auditor audits what stands on the topics.
type auditor struct {
	client       *kgo.Client
	admin        *kadm.Client
	topics       kafka.Topics
	group        string
	match        breaker.Glob
	since, until time.Time
	out          io.Writer
	bar          *progressbar.ProgressBar

	partitions int32
	cluster    string
	topicIDs   map[string]string
	handled    map[int32]schemas.Inputs   // Up to where the group has handled the inputs.
	starts     map[string]map[int32]int64 // Of the topics.
	from, to   map[int32]int64            // What was published between the times.
	ends       map[int32]int64            // Of what was published.
	hash       kgo.TopicPartitioner

	known map[string]*breaker.Policies // By version. Nil is one that cannot be read.
}

// newAuditor looks up where the topics stand.
func newAuditor(ctx context.Context, c config, since, until time.Time, match breaker.Glob) (*auditor, error) {
	a := &auditor{
		topics: c.topics(), group: c.Group, match: match, since: since, until: until, out: io.Discard,
		topicIDs: map[string]string{}, starts: map[string]map[int32]int64{},
		handled: map[int32]schemas.Inputs{}, known: map[string]*breaker.Policies{},
	}
	topics := []string{a.topics.Outcomes, a.topics.Signals, a.topics.Transitions, a.topics.State}
	client, err := c.dial(ctx, topics)
	if err != nil {
		return nil, err
	}
	a.client, a.admin, a.hash = client, kadm.NewClient(client), kgo.StickyKeyPartitioner(nil).ForTopic("")
	if err := a.look(ctx, topics); err != nil {
		client.Close()
		return nil, err
	}
	return a, nil
}

// look asks for the offsets. Those of the group come first: whatever was handled below them lies then before the end of
// what was published.
func (a *auditor) look(ctx context.Context, topics []string) error {
	ctx, cancel := context.WithTimeout(ctx, fetchStall)
	defer cancel()
	found, err := a.admin.Metadata(ctx, topics...)
	if err != nil {
		return fmt.Errorf("look at the topics: %w", err)
	}
	a.cluster, a.partitions = found.Cluster, int32(len(found.Topics[a.topics.Transitions].Partitions))
	for name, topic := range found.Topics {
		a.topicIDs[name] = base64.RawURLEncoding.EncodeToString(topic.ID[:])
		if name != a.topics.State && int32(len(topic.Partitions)) != a.partitions {
			return errors.New("the topics differ in their number of partitions: see 'fusebox topics check'")
		}
	}
	if err := a.lookHandled(ctx); err != nil {
		return err
	}
	for _, topic := range topics {
		if a.starts[topic], err = offsets.Starts(ctx, a.admin, topic); err != nil {
			return err
		}
	}
	transitions := a.topics.Transitions
	if a.from, err = offsetsAt(ctx, a.admin, transitions, a.since, offsets.Starts); err != nil {
		return err
	}
	if a.ends, err = offsets.Ends(ctx, a.admin, transitions); err != nil {
		return err
	}
	a.to, err = offsetsAt(ctx, a.admin, transitions, a.until, offsets.Ends)
	return err
}

// lookHandled asks for the offsets of the group, until no transaction is open that would change them.
func (a *auditor) lookHandled(ctx context.Context) error {
	for {
		found, err := offsets.Stable(ctx, a.admin, a.group, a.topics.Outcomes, a.topics.Signals)
		refused := (*kerr.Error)(nil)
		switch {
		case err == nil && len(found) == 0, errors.Is(err, kerr.GroupIDNotFound):
			return fmt.Errorf("group %s has handled nothing: is it the processors' (FUSEBOX_GROUP)?", a.group)
		case err == nil:
			found.Each(a.noteHandled)
			return nil
		case ctx.Err() != nil || errors.As(err, &refused) && !refused.Retriable:
			return err
		}
		pause(ctx, 100*time.Millisecond)
	}
}

func (a *auditor) noteHandled(o kadm.OffsetResponse) {
	at := a.handled[o.Partition]
	switch o.Topic {
	case a.topics.Outcomes:
		at.Outcomes = max(o.At, 0)
	case a.topics.Signals:
		at.Signals = max(o.At, 0)
	}
	a.handled[o.Partition] = at
}

// auditSpan is what is to be audited of a partition.
type auditSpan struct {
	audit.Config
	partition int32
	from, to  int64          // What was published.
	last      schemas.Inputs // Of the last record of a circuit or its shadow there.
}

// records returns how many records are to be read.
func (s *auditSpan) records() int64 {
	return max(s.End.Outcomes-s.From.Outcomes, 0) + max(s.End.Signals-s.From.Signals, 0) + max(s.to-s.from, 0)
}

// What is read of the inputs before the range, so that repeats of what was there are known, and the clock is right.
const (
	leadOutcomes = 10_000
	leadSignals  = 1_000
)

// span looks through what was published of a partition in the range: where policies change, and between which offsets
// of the inputs it was made.
func (a *auditor) span(ctx context.Context, partition int32) (*auditSpan, error) {
	s := &auditSpan{partition: partition, from: a.from[partition], to: min(a.to[partition], a.ends[partition])}
	s.Match, s.End = a.match, a.handled[partition]
	s.Site = audit.Site{
		Outcomes: a.topics.Outcomes, Signals: a.topics.Signals, Transitions: a.topics.Transitions,
		Partition: partition, Partitions: a.partitions, Group: a.group, Cluster: a.cluster, TopicIDs: a.topicIDs,
		Home: a.home,
	}
	first, err := a.scan(ctx, s)
	if err != nil {
		return nil, err
	}
	starts := schemas.Inputs{
		Outcomes: a.starts[a.topics.Outcomes][partition], Signals: a.starts[a.topics.Signals][partition],
	}
	atStart := len(s.Switches) > 0 && s.Switches[0].At == schemas.Inputs{}
	s.Whole = s.from == 0 && starts == schemas.Inputs{} && atStart
	switch {
	case s.Whole:
		s.Policies = s.Switches[0].Policies
		return s, nil
	case first == nil:
		s.From = s.End // Nothing tells of any circuit.
		return s, nil
	}
	s.From = schemas.Inputs{
		Outcomes: max(starts.Outcomes, first.Inputs.Outcomes-leadOutcomes),
		Signals:  max(starts.Signals, first.Inputs.Signals-leadSignals),
	}
	if s.Policies, err = a.policiesBefore(ctx, s, first); err != nil {
		return nil, err
	}
	return s, nil
}

// scan notes the switches in the range, and returns the first state record there. What was published after the range
// bounds it.
func (a *auditor) scan(ctx context.Context, s *auditSpan) (first *schemas.State, err error) {
	r := a.reader(a.topics.Transitions, s.partition, s.from)
	beyond := false
	for r.position < a.ends[s.partition] && !beyond {
		records, err := a.some(ctx, r, a.ends[s.partition])
		if err != nil {
			return nil, err
		}
		for _, record := range records {
			if beyond = beyond || a.see(s, record, &first); beyond {
				break
			}
		}
	}
	return first, nil
}

// see takes note of a published record. It reports true where it is the first state after the range.
func (a *auditor) see(s *auditSpan, r *kgo.Record, first **schemas.State) (beyond bool) {
	kind, err := schemas.TransitionKind(r.Value)
	switch {
	case err != nil || r.Offset >= a.ends[s.partition]:
	case kind == schemas.SwitchRecord && r.Offset < s.to:
		if sw, ok := a.switchOf(r); ok {
			s.Switches = append(s.Switches, sw)
		}
	case kind == schemas.StateRecord || kind == schemas.ShadowRecord:
		state, err := schemas.DecodeState(r.Value)
		if err != nil {
			return false
		}
		if *first != nil && state.Inputs == s.last {
			s.to = max(s.to, r.Offset+1) // The range ends with all that one record of the inputs made.
		}
		return s.seeState(r, &state, first)
	}
	return false
}

func (s *auditSpan) seeState(r *kgo.Record, state *schemas.State, first **schemas.State) (beyond bool) {
	switch {
	case r.Offset < s.to:
		s.last = state.Inputs
		if *first == nil && !state.IsShadow {
			*first = state
		}
	case !state.IsShadow:
		s.End = before(state, s.End)
		return true
	}
	return false
}

// before returns how far the inputs were handled right before a record was made.
func before(s *schemas.State, end schemas.Inputs) schemas.Inputs {
	at := s.Inputs
	if s.Trigger.Topic != "" && s.Trigger.Offset+1 == at.Outcomes {
		at.Outcomes--
	} else if s.Trigger.Topic != "" {
		at.Signals--
	}
	return schemas.Inputs{Outcomes: min(at.Outcomes, end.Outcomes), Signals: min(at.Signals, end.Signals)}
}

// switchOf reads a switch of policies. Policies that this version cannot read are not at hand.
func (a *auditor) switchOf(r *kgo.Record) (audit.Switch, bool) {
	s, err := schemas.DecodeSwitch(r.Value)
	if err != nil {
		return audit.Switch{}, false
	}
	return audit.Switch{
		At: s.Inputs, Version: s.Policies.Version, Policies: a.policiesOf(s.Policies.Version, s.Policies.Text),
	}, true
}

// policiesOf returns policies by their text, nil where it is not theirs or cannot be read.
func (a *auditor) policiesOf(version, text string) *breaker.Policies {
	if known, any := a.known[version]; any {
		return known
	}
	policies, err := breaker.Read(version, []byte(text))
	if err != nil || policies.Version != version {
		policies = nil
	}
	a.known[version] = policies
	return policies
}

// lookBack is how many records before the range are looked through for the policies in force, at first.
const lookBack = 1000

// policiesBefore returns the policies in force where the range begins: those that a switch before it brought, or where
// that was deleted long ago those that the state topic has, if the first record says that it was them. They are nil
// where they are not at hand.
func (a *auditor) policiesBefore(ctx context.Context, s *auditSpan, first *schemas.State) (*breaker.Policies, error) {
	start := a.starts[a.topics.Transitions][s.partition]
	for size, end := int64(lookBack), s.from; end > start; size *= 4 {
		from := max(start, end-size)
		var last *audit.Switch
		r := a.reader(a.topics.Transitions, s.partition, from)
		for r.position < end {
			records, err := a.some(ctx, r, end)
			if err != nil {
				return nil, err
			}
			for _, record := range records {
				if string(record.Key) != schemas.PoliciesKey || record.Offset >= end {
					continue
				}
				if sw, ok := a.switchOf(record); ok {
					last = &sw
				}
			}
		}
		if last != nil {
			return last.Policies, nil
		}
		end = from
	}
	if known := a.known[first.PolicyVersion]; known != nil {
		return known, nil
	}
	return a.policiesNow(ctx, first.PolicyVersion)
}

// policiesNow returns the policies of the state topic, nil where they have another version.
func (a *auditor) policiesNow(ctx context.Context, version string) (*breaker.Policies, error) {
	ends, err := offsets.Ends(ctx, a.admin, a.topics.State)
	if err != nil {
		return nil, err
	}
	var text *schemas.PoliciesInForce
	r := a.reader(a.topics.State, 0, a.starts[a.topics.State][0])
	for r.position < ends[0] {
		records, err := a.some(ctx, r, ends[0])
		if err != nil {
			return nil, err
		}
		for _, record := range records {
			if string(record.Key) != schemas.PoliciesKey {
				continue
			}
			if p, err := schemas.DecodePolicies(record.Value); err == nil {
				text = &p
			}
		}
	}
	if text == nil || text.Version != version {
		return nil, nil
	}
	return a.policiesOf(text.Version, text.Text), nil
}

func (a *auditor) home(circuit string) int32 {
	return int32(a.hash.Partition(&kgo.Record{Key: []byte(circuit)}, int(a.partitions)))
}
