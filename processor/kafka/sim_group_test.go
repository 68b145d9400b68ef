//go:build synctests

package kafka

import (
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// joinRound is a round in which the members of the group join.
type joinRound struct {
	generation int32
	since      time.Time
}

const effectStuck = "join round that kfake never ended"

// changelogStable tells whether no transaction is open in a compacted topic.
func (s *simulation) changelogStable() bool {
	ctx := s.t.Context()
	ends, err := s.admin.ListEndOffsets(ctx, topics.Changelog, topics.State)
	if err != nil || ends.Error() != nil {
		return false
	}
	stable, err := s.admin.ListCommittedOffsets(ctx, topics.Changelog, topics.State)
	if err != nil || stable.Error() != nil {
		return false
	}
	same := true
	ends.Each(func(end kadm.ListedOffset) {
		at, _ := stable.Lookup(end.Topic, end.Partition)
		same = same && at.Offset >= end.Offset
	})
	return same
}

// unstick empties the group where kfake does not end a join round. A broker ends one at the latest when the rebalance
// timeout is over, whatever its members do, so this hides no fault of theirs. In kfake it may go on for ever: a member
// that goes while its SyncGroup waits is taken from the count of those that have joined, which it was not in, so the
// round has to wait for its timeout; and each JoinGroup sets that back, that of a client too which has waited in vain.
func (s *simulation) unstick() {
	const never = 2 * time.Minute // Twice the timeout that the client asks for.
	info := s.fake.GroupInfo(group)
	if info == nil || info.State != "PreparingRebalance" || info.Epoch != s.round.generation {
		s.round = joinRound{since: time.Now()}
		if info != nil {
			s.round.generation = info.Epoch
		}
		return
	}
	if time.Since(s.round.since) < never {
		return
	}
	for _, m := range info.Members {
		s.fake.Evict(s.t, group, m.ClientID)
	}
	for _, i := range s.instances {
		if i.life != nil {
			i.life.line.Reset() // They ask again at once.
		}
	}
	s.round.since = time.Now()
	s.took(effectStuck)
}
