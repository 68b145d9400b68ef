package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// inForce are policies, and since when they are in force in this process.
type inForce struct {
	*breaker.Policies
	since time.Time
}

// Reload puts other policies in force, in each partition before the next record that it handles. It may be called at
// any time; the policies must have been read whole and without a fault.
func (l *Loop) Reload(policies *breaker.Policies) {
	old := l.policies.Swap(&inForce{policies, time.Now().UTC().Truncate(time.Millisecond)})
	l.metrics.reloads.WithLabelValues("ok").Inc()
	l.metrics.policyInfo.DeleteLabelValues(old.Version)
	l.metrics.policyInfo.WithLabelValues(policies.Version).Set(1)
	for _, w := range l.workers {
		w.inbox.put(reload{})
	}
}

// switchPolicies puts the policies that are in force now in force for a pair. All circuits that the switch may change
// at once have to be in memory for it.
func (w *worker) switchPolicies(p *pair) error {
	err := w.loop.store.Each(p.id, func(circuit string, value []byte) error {
		if p.core.Resident(circuit) || !processor.NeedsReload(value) {
			return nil
		}
		return p.core.Insert(circuit, value)
	})
	if err != nil {
		return fmt.Errorf("switch policies: %w: %w", errReenter, err)
	}
	next := w.loop.policies.Load()
	states := p.core.Reload(next.Policies, p.inputs())
	p.out.states = append(p.out.states, states...)
	p.out.switched, p.out.switchedAt, p.switches = next, p.inputs(), false
	return nil
}

// publishSwitch says from where on which policies judge a pair, where that is new, and with partition 0 which policies
// are in force.
func (w *worker) publishSwitch(ctx context.Context, p *pair) {
	policies := p.out.switched
	if policies == nil {
		return
	}
	now := schemas.PoliciesInForce{
		Version: policies.Version, Routes: policies.Routes, Text: policies.Text, Instance: w.loop.config.Instance,
		Since: policies.since,
	}
	b, topics := &w.publisher, &w.loop.config.Topics
	from := len(b.text)
	b.text = schemas.AppendSwitch(b.text, &schemas.PolicySwitch{Policies: now, Inputs: p.out.switchedAt})
	record := b.record(topics.Transitions, p.id)
	record.Value = b.since(from)
	record.Key = b.keep(schemas.PoliciesKey)
	b.produce(ctx, w.session, record)
	if p.id != 0 {
		return
	}
	from = len(b.text)
	b.text = schemas.AppendPolicies(b.text, &now)
	record = b.record(topics.State, p.id)
	record.Value = b.since(from)
	record.Key = b.keep(schemas.PoliciesKey)
	b.produce(ctx, w.session, record)
}
