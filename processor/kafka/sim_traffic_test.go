//go:build synctests

package kafka

import (
	"context"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

// partitioner is how a client chooses the partition of a circuit.
type partitioner string

const (
	murmur2 partitioner = "murmur2"
	crc     partitioner = "crc32"
	fnv1a   partitioner = "fnv1a"
	random  partitioner = "random"
	fixed   partitioner = "fixed"
)

var partitioners = []partitioner{murmur2, crc, fnv1a, random, fixed}

// placed returns the record with the partition that a partitioner chooses.
func (s *simulation) placed(r *kgo.Record, circuit string, by partitioner) *kgo.Record {
	switch by {
	case murmur2:
		r.Partition = s.home(circuit)
	case crc:
		r.Partition = int32(crc32.ChecksumIEEE([]byte(circuit)) % uint32(s.partitions))
	case fnv1a:
		h := fnv.New32a()
		h.Write([]byte(circuit))
		r.Partition = int32(h.Sum32() % uint32(s.partitions))
	case random:
		r.Key, r.Partition = nil, rand.Int32N(s.partitions)
	case fixed:
		r.Partition = 0
	}
	return r
}

func (s *simulation) circuit(n int) string {
	return fmt.Sprintf("case:route-%d:v1", uint(n)%uint(s.plan.circuits))
}

// rng returns numbers that follow from the seed, for one of those who act in the simulation.
func (s *simulation) rng(who uint64) *rand.Rand { return rand.New(rand.NewPCG(s.plan.seed, 1000+who)) }

// send writes records, and tells whether all were acknowledged.
func (s *simulation) send(client *kgo.Client, records ...*kgo.Record) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return client.ProduceSync(ctx, records...).FirstErr() == nil
}

// produces writes outcomes, in transactions where the plan says so.
func (s *simulation) produces(n int, p producerPlan) {
	rng := s.rng(uint64(n))
	var more []kgo.Opt
	if p.txn {
		more = append(more, kgo.TransactionalID(fmt.Sprint("producer-", n)))
	}
	client := s.manual(more...)
	for round := 0; !s.ended(); round++ {
		s.hush()
		var records []*kgo.Record
		for range p.batch {
			records = append(records, s.outcome(rng, p.partitioner, round))
		}
		if !p.txn {
			if s.send(client, records...) {
				s.acknowledged(len(records))
			}
		} else if s.transaction(client, rng, records) {
			s.acknowledged(len(records))
		}
		time.Sleep(p.every)
	}
}

// transaction writes records in a transaction, and tells whether it was committed.
func (s *simulation) transaction(client *kgo.Client, rng *rand.Rand, records []*kgo.Record) bool {
	if err := client.BeginTransaction(); err != nil {
		s.t.Errorf("BeginTransaction: %v", err)
	}
	commit := kgo.TransactionEndTry(s.send(client, records...) && rng.IntN(4) > 0)
	time.Sleep(time.Duration(rng.IntN(500)) * time.Millisecond)
	if err := client.EndTransaction(context.Background(), commit); err != nil {
		s.t.Errorf("EndTransaction: %v", err)
	}
	return bool(commit)
}

func (s *simulation) acknowledged(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acked += n
}

// outcome returns the record of an outcome. Half of them have no id, so that the core cannot know a repeat by itself;
// some of the ids come twice; a few records cannot be read.
func (s *simulation) outcome(rng *rand.Rand, by partitioner, round int) *kgo.Record {
	c := rng.IntN(s.plan.circuits)
	o := schemas.Outcome{Circuit: s.circuit(c), Kind: schemas.Accepted, Count: 1, LatencyMS: int64(rng.IntN(900))}
	if waves(round, c) || rng.IntN(8) == 0 {
		o.Kind = choose(rng, []string{
			schemas.MissingEvidence, schemas.TransportFailure, schemas.MissingEvidence, schemas.PolicyRejection,
		})
	}
	switch rng.IntN(10) {
	case 0, 1, 2, 3:
		o.ID = fmt.Sprint("id-", rng.Uint64())
	case 4:
		o.ID = fmt.Sprint("id-", c, rng.IntN(5))
	case 5:
		o.Count = 3
	case 6:
		o.Epoch, o.HasEpoch = s.eyes.state(o.Circuit).Epoch, true
	}
	r := &kgo.Record{Topic: topics.Outcomes, Key: []byte(o.Circuit), Value: schemas.AppendOutcome(nil, &o)}
	if rng.IntN(100) == 0 {
		r.Value = []byte("no outcome")
	}
	return s.placed(r, o.Circuit, by)
}

// routes is a router: it claims probes that are due and reports on those that it was granted, at once, late, twice or
// never.
func (s *simulation) routes(n int, by partitioner) {
	rng := s.rng(100 + uint64(n))
	client := s.manual()
	name := fmt.Sprint("router-", n)
	done := map[string]bool{}
	for call := 0; !s.ended(); call++ {
		s.hush()
		time.Sleep(time.Duration(100+rng.IntN(400)) * time.Millisecond)
		st := s.eyes.state(s.circuit(rng.IntN(s.plan.circuits)))
		if st.Circuit == "" {
			continue
		}
		st = st.At(time.Now())
		for _, lease := range st.Leases {
			if lease.Holder == name && !done[lease.ID] {
				done[lease.ID] = true
				s.probe(rng, client, st, lease.ID, by)
			}
		}
		due := st.State == schemas.Open && !time.Now().Before(st.RetryAt)
		if due || st.State == schemas.HalfOpen || rng.IntN(20) == 0 {
			s.send(client, s.placed(signal(schemas.Signal{
				Type: schemas.Claim, Circuit: st.Circuit, Holder: name, Lease: fmt.Sprint(name, "-", call/2),
				Epoch: st.Epoch, HasEpoch: rng.IntN(2) == 0,
			}), st.Circuit, by))
		}
	}
}

// probe is the call that a lease allows.
func (s *simulation) probe(rng *rand.Rand, client *kgo.Client, st schemas.State, lease string, by partitioner) {
	o := schemas.Outcome{
		Circuit: st.Circuit, Kind: schemas.Accepted, Count: 1, Lease: lease, Epoch: st.Epoch, HasEpoch: true,
	}
	if rng.IntN(3) == 0 {
		o.Kind = schemas.MissingEvidence
	}
	report := func() {
		r := &kgo.Record{Topic: topics.Outcomes, Key: []byte(o.Circuit), Value: schemas.AppendOutcome(nil, &o)}
		if s.send(client, s.placed(r, o.Circuit, by)) {
			s.acknowledged(1)
		}
	}
	switch rng.IntN(8) {
	case 0: // It dies.
	case 1:
		time.Sleep(4 * time.Second)
		report()
	case 2:
		report()
		report()
	case 3:
		s.send(client, s.placed(signal(schemas.Signal{
			Type: schemas.Release, Circuit: st.Circuit, Lease: lease, Unused: rng.IntN(2) == 0,
		}), st.Circuit, by))
	default:
		report()
	}
}
