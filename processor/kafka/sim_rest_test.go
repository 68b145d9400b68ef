//go:build synctests

package kafka

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/internal/oracle"
)

// whileAllRest stops all instances in peace, does something while the group is empty, and lets them start again.
func (s *simulation) whileAllRest(e event, do func() bool) {
	begin := time.Now()
	for _, i := range s.instances {
		i.look()
		i.rests(begin.Add(patience))
	}
	for !s.resting() && time.Since(begin) < time.Minute {
		time.Sleep(500 * time.Millisecond)
		s.supervise()
	}
	if s.resting() && do() {
		s.took(e.class)
	}
	for n, i := range s.instances {
		i.rests(time.Now().Add(e.lasts / 8 * time.Duration(n)))
	}
}

// resting tells whether nobody lives, and the group has no members. Those that were killed time out.
func (s *simulation) resting() bool {
	for _, i := range s.instances {
		if i.life != nil {
			return false
		}
	}
	info := s.fake.GroupInfo(group)
	return info == nil || len(info.Members) == 0
}

// expired takes the group's offsets away, as a broker does when nobody worked for a week. Now and then the first
// transactions after that are aborted: a client has nothing then that it could go back to by itself.
func (s *simulation) expired(e event) {
	s.whileAllRest(e, func() bool {
		answer, err := s.admin.DeleteGroups(s.t.Context(), group)
		return err == nil && answer[group].Err == nil
	})
	if e.pick%2 == 0 {
		s.refused(event{class: "produce refused", nth: e.nth})
	}
}

// deletedUnhandled deletes records that nobody has handled yet, as retention does where all were away for long.
func (s *simulation) deletedUnhandled(e event) {
	s.whileAllRest(e, func() bool {
		ctx := s.t.Context()
		time.Sleep(e.lasts / 8) // Some more may come.
		commits, err := s.admin.FetchOffsets(kadm.RequireStable(ctx), group)
		if err != nil || commits.Error() != nil {
			return false
		}
		ends, err := s.admin.ListCommittedOffsets(ctx, topics.Outcomes, topics.Signals)
		if err != nil || ends.Error() != nil {
			return false
		}
		s.keepInputs()
		deleted := 0
		commits.Each(func(o kadm.OffsetResponse) {
			end, known := ends.Lookup(o.Topic, o.Partition)
			to := min(o.At+1+int64(e.pick%7), end.Offset)
			if !known || o.At < 0 || to <= o.At || e.pick>>uint(o.Partition%20)%2 == 0 {
				return
			}
			err := s.fake.DeleteRecords(o.Topic, o.Partition, to)
			if errors.Is(err, kerr.OffsetOutOfRange) {
				return // They were deleted before, and nobody has committed since.
			}
			if err != nil {
				s.t.Errorf("delete records of %s/%d below %d: %v", o.Topic, o.Partition, to, err)
			}
			for _, r := range s.kept {
				if r.Topic == o.Topic && r.Partition == o.Partition && r.Offset >= o.At && r.Offset < to {
					s.lost[placeOf(r)] = r
					deleted++
				}
			}
		})
		return deleted > 0
	})
}

func placeOf(r *kgo.Record) oracle.Place {
	return oracle.Place{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
}
