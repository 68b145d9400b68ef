package kafka

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// heed takes note of what came into the inbox. What the worker was given less before this generation of the group is in
// it, as it says so to the group before it joins the next one.
func (w *worker) heed() error {
	w.member, w.generation = w.client.GroupMetadata()
	for _, event := range w.inbox.take() {
		switch e := event.(type) {
		case membership:
			w.keep(e.partitions)
		case assignment:
			w.take(e)
		case revocation:
			w.giveUp(e.partitions)
		case restoration:
			if err := w.restored(e); err != nil {
				return err
			}
		case look:
			e.answer <- w.answer(e)
		case reload:
			for p := range w.working() {
				p.switches = p.policies.Version != w.loop.policies.Load().Version
			}
		}
	}
	return w.forgotten()
}

// forgotten returns an error where the worker is another member of the group now than the one that a pair was given to.
// Where the group had forgotten it as it asked to join, the client (franz-go v1.22.3, handleJoinResp) joins as somebody
// new and says nothing: others may have worked on the pair since, and it may even be this worker's again.
func (w *worker) forgotten() error {
	for _, p := range w.pairs {
		if p.member != w.member {
			return fmt.Errorf("%w: the group had forgotten %s, which had partition %d", errRejoin, p.member, p.id)
		}
	}
	return nil
}

// keep drops the pairs that are not among the worker's partitions any more. A broker checks that who commits an offset
// is a member, and not that the partition is his: a pair that is kept by mistake would commit behind its new owner's
// back.
func (w *worker) keep(partitions map[string][]int32) {
	topics := w.loop.config.Topics
	for id := range w.pairs {
		if !slices.Contains(partitions[topics.Outcomes], id) || !slices.Contains(partitions[topics.Signals], id) {
			w.drop(id)
		}
	}
}

// take begins with the pairs that are assigned. The balancer assigns whole pairs alone.
func (w *worker) take(given assignment) {
	topics := w.loop.config.Topics
	halves := map[int32]int{}
	for _, topic := range []string{topics.Outcomes, topics.Signals} {
		for _, id := range given.partitions[topic] {
			halves[id]++
		}
	}
	for id, n := range halves {
		if n != 2 {
			w.log.Error("half of a pair was assigned: it is not worked on", "partition", id)
			continue
		}
		w.begin(id, given.member)
	}
	w.loop.status.join(w.id)
	if !w.joined {
		w.joined, w.asks = true, time.Now().Add(asksAfter)
	}
}

// asksAfter is how long after its first assignment a worker looks whether somebody has each partition. By then the
// client should have fetched where it goes on: a join round would have it begin anew, and wait for a second where a
// commit is under way by then.
const asksAfter = 350 * time.Millisecond

// claimRest asks the group for one more join round where it has partitions that nobody has. A static member that was
// killed after it had given up partitions, and before it had said so by joining again, gets its old assignment back,
// and nobody the rest. Where the group does not say, the round costs nobody his work.
func (w *worker) claimRest(ctx context.Context) {
	w.asks = time.Time{}
	ctx, cancel := context.WithTimeout(ctx, retryAfter)
	defer cancel()
	all, err := w.loop.cluster.allGiven(ctx)
	switch {
	case err != nil:
		w.log.Info("a join round is asked for: whether each partition is somebody's is not known", "err", err)
	case !all:
		w.log.Info("a join round is asked for: not each partition is somebody's")
	default:
		return
	}
	w.client.ForceRebalance()
}

// begin starts the restore of a pair that a member was given. Its partitions are not polled until that is over.
func (w *worker) begin(id int32, member string) {
	told := ""
	if before := w.pairs[id]; before != nil {
		told = before.told
	}
	w.drop(id)
	topics := w.loop.config.Topics
	w.client.PauseFetchPartitions(map[string][]int32{topics.Outcomes: {id}, topics.Signals: {id}})
	p := newPair(id, topics, w.loop.metrics)
	p.told, p.member = told, member
	w.pairs[id] = p
	w.setPhase(p, restoring)
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	w.restores.Go(func() {
		result, err := w.loop.restore(ctx, p)
		w.inbox.put(restoration{p, result, err})
	})
}

// restored lets a pair work, or says why it does not.
func (w *worker) restored(e restoration) error {
	p := e.pair
	if w.pairs[p.id] != p { // It was given up meanwhile.
		w.loop.claims.release(p)
		return nil
	}
	if fatal(e.err) {
		return e.err
	}
	if e.err != nil {
		w.refuse(p, e.err)
		return nil
	}
	p.told = ""
	p.fill(e.result)
	p.switches = p.base.Policies != w.loop.policies.Load().Version // It may have changed while this was restored.
	w.loop.known.Add(int64(p.known))
	w.setPhase(p, catchingUp)
	offsets := map[string]map[int32]kgo.EpochOffset{}
	p.offsets(offsets)
	w.move(offsets)
	w.client.ResumeFetchPartitions(map[string][]int32{p.outcomes.topic: {p.id}, p.signals.topic: {p.id}})
	w.log.Info("partition restored", "partition", p.id, "circuits", p.known, "outcomes", p.outcomes.next,
		"signals", p.signals.next, "behind", p.target-p.outcomes.next)
	return nil
}

// refuse leaves a pair unworked and says why, in the log once. The restore is tried again with the heartbeats, as the
// reason may go.
func (w *worker) refuse(p *pair, err error) {
	if why := err.Error(); why != p.told {
		w.log.Error("partition does not start", "partition", p.id, "err", err)
		p.told = why
	}
	if p.phase.works() {
		w.rollback(p)
	}
	topics := w.loop.config.Topics
	w.client.PauseFetchPartitions(map[string][]int32{topics.Outcomes: {p.id}, topics.Signals: {p.id}})
	w.setPhase(p, refused)
	w.loop.status.problem(p.id, err)
}

// giveUp drops pairs that were revoked, with all that is not committed of them.
func (w *worker) giveUp(partitions map[string][]int32) {
	topics := w.loop.config.Topics
	for _, topic := range []string{topics.Outcomes, topics.Signals} {
		for _, id := range partitions[topic] {
			w.drop(id)
		}
	}
}

// drop forgets a pair, with all that is not committed of it.
func (w *worker) drop(id int32) {
	p := w.pairs[id]
	if p == nil {
		return
	}
	p.stop()
	delete(w.pairs, id)
	for _, s := range p.circuits {
		s.remove()
	}
	w.loop.known.Add(int64(-p.known - p.out.known))
	w.loop.resident.Add(int64(-p.counted))
	if p.phase != restoring { // A restore under way still uses the store; it gives the claim back itself.
		w.loop.claims.release(p)
	}
	w.loop.status.gone(id, w.id)
	w.loop.metrics.forgetPartition(strconv.Itoa(int(id)))
}

// setPhase notes how far a pair is, for the report and the metrics.
func (w *worker) setPhase(p *pair, now phase) {
	p.phase = now
	w.loop.status.phase(p.id, w.id, now)
	w.loop.metrics.setPhase(strconv.Itoa(int(p.id)), now)
	if now == running {
		w.log.Info("partition caught up", "partition", p.id)
	}
}
