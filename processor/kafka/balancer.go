package kafka

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// balancer assigns outcomes partition i and signals partition i to the same member. It lets the cooperative-sticky
// balancer plan the outcomes topic as if there were no other, and then gives each member the signals partitions of its
// outcomes partitions. As that happens after the cooperative adjustment, which takes a partition out of the plan until
// its owner has given it up, both of a pair move in the same round.
//
// Kafka's own assignors spread each topic by itself and do not promise this. The protocol has a name of its own, so
// that no member with another assignor can be in the group.
type balancer struct {
	kgo.GroupBalancer // cooperative-sticky
	outcomes, signals string
	synced            func(partitions map[string][]int32) // Told each whole assignment of this member.
}

func newBalancer(topics Topics, synced func(map[string][]int32)) kgo.GroupBalancer {
	return balancer{kgo.CooperativeStickyBalancer(), topics.Outcomes, topics.Signals, synced}
}

// ParseSyncAssignment reads what a generation of the group assigns to this member, and passes it on: all of it, where
// the client's callbacks tell differences alone, and a transactional session swallows a second revocation in a row.
func (b balancer) ParseSyncAssignment(assignment []byte) (map[string][]int32, error) {
	partitions, err := b.GroupBalancer.ParseSyncAssignment(assignment)
	if err == nil {
		b.synced(partitions)
	}
	return partitions, err
}

// ProtocolName returns the name by which the members of a group agree on this balancer.
func (b balancer) ProtocolName() string { return "fusebox-pairs" }

// MemberBalancer returns what plans one generation of the group.
func (b balancer) MemberBalancer(members []kmsg.JoinGroupResponseMember) (
	kgo.GroupMemberBalancer, map[string]struct{}, error,
) {
	planner, topics, err := b.GroupBalancer.MemberBalancer(members)
	return pairing{planner, b.outcomes, b.signals}, topics, err
}

// pairing plans one generation.
type pairing struct {
	planner           kgo.GroupMemberBalancer
	outcomes, signals string
}

// Balance plans the pairs; topics tells how many partitions each topic has. A pair of which one half does not exist
// is nobody's.
func (p pairing) Balance(topics map[string]int32) kgo.IntoSyncAssignment {
	into, err := p.BalanceOrError(topics)
	if err != nil {
		return nil // Not called: the client prefers BalanceOrError.
	}
	return into
}

// BalanceOrError is Balance for a planner that can fail.
func (p pairing) BalanceOrError(topics map[string]int32) (kgo.IntoSyncAssignment, error) {
	pairs := map[string]int32{p.outcomes: min(topics[p.outcomes], topics[p.signals])}
	into, err := p.plan(pairs)
	if err != nil {
		return nil, err
	}
	plan, ok := into.(*kgo.BalancePlan)
	if !ok {
		return into, nil
	}
	for _, assigned := range plan.AsMemberIDMap() {
		delete(assigned, p.signals)
		if partitions := assigned[p.outcomes]; len(partitions) > 0 {
			assigned[p.signals] = slices.Clone(partitions)
		}
	}
	return plan, nil
}

func (p pairing) plan(topics map[string]int32) (kgo.IntoSyncAssignment, error) {
	if planner, ok := p.planner.(kgo.GroupMemberBalancerOrError); ok {
		return planner.BalanceOrError(topics)
	}
	return p.planner.Balance(topics), nil
}
