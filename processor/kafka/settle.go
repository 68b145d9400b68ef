package kafka

import (
	"maps"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
	"github.com/fusebox-project/fusebox/state"
)

// settle makes what a transaction committed the memory of its pair, hands the same values to the store, and counts
// what was pending.
func (w *worker) settle(pub *publication) {
	p, now := pub.pair, time.Now()
	p.core.Commit()
	w.loop.store.Save(p.id, p.changes, state.Position{
		Offset: pub.progress.Offset + 1, At: w.loop.now(), Progress: pub.progress.Value,
	})
	clear(p.changes)
	w.count(p, now)
	if p.out.switched != nil {
		w.tellClosed(p)
		p.policies, p.regimes = p.out.switched, p.core.Regimes()
	}
	p.origins = p.mergedOrigins()
	p.base, p.stamp = pub.next, pub.next.stamp()
	p.known += p.out.known
	p.out.clear()
	w.caughtUp(p)
	for key := range p.poison {
		if key.topic == p.outcomes.topic && key.offset < p.base.Outcomes.Next ||
			key.topic == p.signals.topic && key.offset < p.base.Signals.Next {
			delete(p.poison, key)
		}
	}
}

// mergedOrigins returns the origins as they are with what is not committed yet.
func (p *pair) mergedOrigins() origins {
	if len(p.out.origins) == 0 {
		return p.origins
	}
	merged := maps.Clone(p.origins)
	maps.Copy(merged, p.out.origins)
	return merged
}

// count tells Prometheus what a committed transaction did, and the log which circuits moved.
func (w *worker) count(p *pair, now time.Time) {
	m := w.loop.metrics
	m.count(p.outcomes.topic, p.out.tally[0])
	m.count(p.signals.topic, p.out.tally[1])
	m.clamped.Add(float64(p.out.clamped))
	for _, at := range p.out.appended {
		m.endToEnd.Observe(max(now.Sub(at), 0).Seconds())
	}
	for i := range p.out.states {
		w.tell(p, &p.out.states[i])
	}
	for _, s := range p.out.touched {
		s.flush()
		p.showRatios(s)
	}
	for i := range p.out.states {
		p.show(p.seriesOf(m, p.out.states[i].Circuit))
	}
	for _, circuit := range p.out.swept {
		p.forgetSeries(circuit)
	}
}

// tell counts one published state and tells the log of it, if the circuit or its shadow moved.
func (w *worker) tell(p *pair, st *schemas.State) {
	rule := ""
	if st.Cause != nil {
		rule = st.Cause.Rule
	}
	if st.IsShadow {
		w.log.Info("shadow moved", "circuit", st.Circuit, "policy", st.Policy, "from", st.Previous, "to", st.State,
			"epoch", st.Epoch, "rule", rule, "at", st.ChangedAt, "partition", p.id, "offset", st.Trigger.Offset)
		return
	}
	if from, moved := p.moved(w.loop.metrics, st); moved {
		w.log.Info("circuit moved", "circuit", st.Circuit, "from", from, "to", st.State, "epoch", st.Epoch,
			"rule", rule, "at", st.ChangedAt, "partition", p.id, "offset", st.Trigger.Offset, "enforced", st.Enforced)
	}
}

// evict takes circuits out of memory that have not been used for long, where the process holds more than it may: each
// pair keeps its share, so that all together keep to the limit once each worker has committed. They come back from the
// store with their next record.
func (w *worker) evict() {
	most := w.loop.config.MaxResident
	for p := range w.working() {
		w.account(p)
		if w.loop.resident.Load() > int64(most) {
			p.core.Evict(most / max(w.loop.status.pairs(), 1))
			w.account(p)
		}
	}
}

// account tells the process how many circuits of a pair are in memory.
func (w *worker) account(p *pair) {
	w.loop.resident.Add(int64(p.core.Len() - p.counted))
	p.counted = p.core.Len()
}
