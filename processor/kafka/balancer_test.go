package kafka

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// member is one member of a group in a test, with what it was assigned last.
type member struct {
	id    string
	owned map[string][]int32
}

// round lets the balancer plan one generation, and every member take up its assignment. It reports whether a member had
// to give something up, after which members join again.
func round(
	t *testing.T, b kgo.GroupBalancer, members []member, counts map[string]int32, generation int32,
) (again bool) {
	t.Helper()
	var joined []kmsg.JoinGroupResponseMember
	for _, m := range members {
		j := kmsg.NewJoinGroupResponseMember()
		j.MemberID = m.id
		topics := slices.Sorted(func(yield func(string) bool) {
			for topic := range counts {
				if !yield(topic) {
					return
				}
			}
		})
		j.ProtocolMetadata = b.JoinGroupMetadata(topics, clone(m.owned), generation)
		joined = append(joined, j)
	}
	planner, _, err := b.MemberBalancer(joined)
	if err != nil {
		t.Fatalf("MemberBalancer: %v", err)
	}
	plan, err := planner.(kgo.GroupMemberBalancerOrError).BalanceOrError(counts)
	if err != nil {
		t.Fatalf("BalanceOrError: %v", err)
	}
	for _, a := range plan.IntoSyncAssignment() {
		now, err := b.ParseSyncAssignment(a.MemberAssignment)
		if err != nil {
			t.Fatalf("ParseSyncAssignment: %v", err)
		}
		i := slices.IndexFunc(members, func(m member) bool { return m.id == a.MemberID })
		for topic, partitions := range members[i].owned {
			for _, p := range partitions {
				again = again || !slices.Contains(now[topic], p)
			}
		}
		members[i].owned = now
	}
	return again
}

func clone(owned map[string][]int32) map[string][]int32 {
	c := map[string][]int32{}
	for topic, partitions := range owned {
		c[topic] = slices.Clone(partitions)
	}
	return c
}

// TestBalancer lets members come and go at random. In every generation each member has the same partitions of both
// topics and no partition has two owners; when nothing has to be given up any more, every pair has one. Pitfall 11:
// both halves of a pair move together.
func TestBalancer(t *testing.T) {
	topics := TopicsWithPrefix("t.")
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		b := newBalancer(topics, func(map[string][]int32) {})
		pairs := int32(1 + rng.IntN(12))
		counts := map[string]int32{topics.Outcomes: pairs, topics.Signals: pairs}
		var members []member
		generation, name := int32(0), 0
		for range 12 {
			if len(members) == 0 || rng.IntN(3) > 0 {
				members = append(members, member{id: fmt.Sprintf("m%02d", name)})
				name++
			} else {
				i := rng.IntN(len(members))
				members = slices.Delete(members, i, i+1)
			}
			if len(members) == 0 {
				continue
			}
			for again := true; again; generation++ {
				again = round(t, b, members, counts, generation)
				checkPairs(t, seed, members, topics, pairs, !again)
			}
		}
	}
}

func checkPairs(t *testing.T, seed uint64, members []member, topics Topics, pairs int32, settled bool) {
	t.Helper()
	owners := map[int32]string{}
	least, most := int(pairs), 0
	for _, m := range members {
		outcomes, signals := m.owned[topics.Outcomes], m.owned[topics.Signals]
		if !slices.Equal(outcomes, signals) {
			t.Fatalf("seed %d: %s has outcomes %v and signals %v", seed, m.id, outcomes, signals)
		}
		for _, p := range outcomes {
			if owners[p] != "" {
				t.Fatalf("seed %d: partition %d belongs to %s and to %s", seed, p, owners[p], m.id)
			}
			owners[p] = m.id
		}
		least, most = min(least, len(outcomes)), max(most, len(outcomes))
	}
	if settled && len(owners) != int(pairs) {
		t.Fatalf("seed %d: %d of %d pairs have an owner when nothing moves any more", seed, len(owners), pairs)
	}
	if settled && most-least > 1 {
		t.Fatalf("seed %d: members have between %d and %d partitions of %d", seed, least, most, pairs)
	}
}
