package kafka

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/internal/oracle"
	"github.com/fusebox-project/fusebox/processor/audit"
	"github.com/fusebox-project/fusebox/schemas"
)

// commit publishes what the pair has to say, as a worker does.
func (o *order) commit() {
	p := o.pair
	left := p.out.handled
	for i := range p.out.states {
		for len(left) > 0 && left[0].states == i {
			o.publish(schemas.HandledKey, schemas.AppendHandled(nil, &left[0].below))
			left = left[1:]
		}
		o.publish(p.out.states[i].Circuit, schemas.AppendState(nil, &p.out.states[i]))
	}
	for _, h := range left {
		o.publish(schemas.HandledKey, schemas.AppendHandled(nil, &h.below))
	}
	if s := p.out.switched; s != nil {
		o.publish(schemas.PoliciesKey, schemas.AppendSwitch(nil, &schemas.PolicySwitch{
			Policies: schemas.PoliciesInForce{Version: s.Version, Text: s.Text, Instance: "a", Since: s.since},
			Inputs:   p.out.switchedAt,
		}))
	}
	for circuit, value := range p.core.Changes() {
		o.values[circuit] = value.Append(nil)
	}
	p.core.Commit()
	p.regimes = p.core.Regimes()
	p.base.Outcomes.Next, p.base.Signals.Next = p.outcomes.next, p.signals.next
	if clock := p.core.Clock(); !clock.IsZero() {
		p.base.ClockMS = clock.UnixMilli()
	}
	p.out.clear()
	o.order, o.handled = append(o.order, o.handled...), nil
}

func (o *order) publish(key string, value []byte) {
	o.log.Transitions = append(o.log.Transitions, &kgo.Record{
		Topic: "transitions", Offset: int64(len(o.log.Transitions)), Key: []byte(key), Value: value, Timestamp: o.now,
	})
}

// judge looks whether what was published tells the order, and what audits find.
func (o *order) judge() {
	readable := func(f *feed) []*kgo.Record {
		isControl := func(r *kgo.Record) bool { return r.Attrs.IsControl() }
		return slices.DeleteFunc(slices.Clone(o.appended[f]), isControl)
	}
	o.log.Outcomes, o.log.Signals = readable(&o.pair.outcomes), readable(&o.pair.signals)
	if got := o.replayed(); !slices.Equal(got, o.order) {
		o.t.Errorf("records were handled as %v,\nand replayed as %v", o.order, got)
	}
	if o.stamps == 3 {
		return // How far timestamps were clamped is not all published.
	}
	if _, err := oracle.Audited(&o.log); err != nil {
		o.t.Error(err)
	}
	reports, err := oracle.AuditFrom(&o.log, o.rng)
	if err != nil || reports[0].Different > 0 {
		o.t.Errorf("an audit from somewhere on finds %+v, %v", reports[0].Differences, err)
	}
	altered, record, how := oracle.Altered(&o.log, o.rng)
	if err := oracle.Found(altered, record, how); err != nil {
		o.t.Errorf("what was altered is not found: %v", err)
	}
}

// replayed returns the order in which what was published says that records were handled.
func (o *order) replayed() (order []audit.Place) {
	replay := audit.NewReplay(audit.Site{
		Outcomes: o.pair.outcomes.topic, Signals: o.pair.signals.topic, Home: func(string) int32 { return 0 },
	})
	for feed, records := range map[audit.Feed][]*kgo.Record{
		audit.Outcomes: o.log.Outcomes, audit.Signals: o.log.Signals,
	} {
		for _, r := range records {
			replay.Take(feed, []audit.Record{{Topic: r.Topic, Offset: r.Offset, Time: r.Timestamp, Value: r.Value}}, 0)
		}
		replay.End(feed)
	}
	cuts := []audit.Cut{}
	for _, r := range o.log.Transitions {
		if at, err := schemas.DecodeHandled(r.Value); string(r.Key) == schemas.HandledKey && err == nil {
			cuts = append(cuts, audit.Cut{At: at})
		} else if s, err := schemas.DecodeState(r.Value); string(r.Key) != schemas.PoliciesKey && err == nil {
			cuts = append(cuts, audit.Cut{At: s.Inputs, Trigger: s.Trigger})
		}
	}
	for _, c := range append(cuts, audit.Cut{At: o.pair.inputs()}) {
		for h, any := replay.Next(&c); any; h, any = replay.Next(&c) {
			order = append(order, h.Record.Place())
		}
	}
	return order
}
