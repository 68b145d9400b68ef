package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
	"github.com/fusebox-project/fusebox/state"
)

// inForce are policies, and since when they are in force in this process.
type inForce struct {
	*breaker.Policies
	since time.Time
}

// Reload puts other policies in force, in each partition before the next record that it handles. It may be called at
// any time; the policies must have been read whole and without a fault.
func (l *Loop) Reload(policies *breaker.Policies) {
	old := l.policies.Swap(&inForce{policies, l.now().UTC().Truncate(time.Millisecond)})
	l.refused.Store(nil)
	l.metrics.reloads.WithLabelValues("ok").Inc()
	l.metrics.reloaded.Set(1)
	l.metrics.policyInfo.DeleteLabelValues(old.Version)
	l.metrics.policyInfo.WithLabelValues(policies.Version).Set(1)
	for _, w := range l.workers {
		w.inbox.put(reload{})
	}
}

// RefusedFile tells of policies that were to be put in force and could not be.
type RefusedFile struct {
	At     time.Time `json:"at" doc:"When the file was refused; what was in force stays so."`
	Faults []string  `json:"faults" doc:"What is wrong, and where: file:line:column."`
}

// String says it in one line.
func (r *RefusedFile) String() string {
	return "the policy file on disk was refused at " + r.At.Format(time.RFC3339) + ", what was in force stays so: " +
		strings.Join(r.Faults, "; ")
}

// ReloadFailed notes that policies were to be put in force and could not be, and why. Those in force stay so.
func (l *Loop) ReloadFailed(faults ...string) {
	l.refused.Store(&RefusedFile{l.now().UTC().Truncate(time.Millisecond), faults})
	l.metrics.reloads.WithLabelValues("failed").Inc()
	l.metrics.reloaded.Set(0)
}

// switchPolicies puts the policies that are in force now in force for a pair. All circuits that the switch may change
// at once have to be in memory for it.
func (w *worker) switchPolicies(p *pair) error {
	err := w.loop.store.Each(p.id, func(circuit string, value []byte) error {
		if !isCircuit(circuit) || p.core.Resident(circuit) || !processor.NeedsReload(value) {
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

// closedShown is how many circuits that a reload closed are named in the log.
const closedShown = 5

// tellClosed warns of the circuits of a pair that refused calls until a reload that left them no policy, or switched
// theirs off: routers call them again, and nothing judges what comes of it.
func (w *worker) tellClosed(p *pair) {
	var unmatched, off int
	var names []string
	for i := range p.out.states {
		s := &p.out.states[i]
		switch {
		case !s.ClosedByReload():
			continue
		case s.Policy == "":
			unmatched++
		default:
			off++
		}
		if len(names) < closedShown {
			names = append(names, s.Circuit)
		}
	}
	if unmatched+off > 0 {
		w.log.Warn("a reload closed circuits that were open: no policy matches them any more, or theirs is off",
			"unmatched", unmatched, "off", off, "first", names, "version", p.out.switched.Version, "partition", p.id)
	}
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
	b.produce(ctx, w.client, record)
	if p.id != 0 {
		return
	}
	from = len(b.text)
	b.text = schemas.AppendPolicies(b.text, &now)
	record = b.record(topics.State, p.id)
	record.Value = b.since(from)
	record.Key = b.keep(schemas.PoliciesKey)
	b.produce(ctx, w.client, record)
}

// policiesKeyPrefix begins the keys under which the changelog of a partition keeps the texts of the policies that were
// in force there lately, by number. With them circuits come back as if they had been in memory all the time.
const policiesKeyPrefix = "\u0000policies/"

func policiesKey(number int64) string { return policiesKeyPrefix + strconv.FormatInt(number, 10) }

// isCircuit tells whether a key of the changelog is a circuit's name: those of our own begin with a character that no
// name has.
func isCircuit(key string) bool { return key != "" && key[0] != 0 }

// regime returns what is in force in a pair.
func (p *pair) regime() processor.Regime {
	all := p.core.Regimes()
	return all[len(all)-1]
}

// publishRegime leaves the policies that came in force in the changelog, and takes those from it that are no longer
// needed.
func (w *worker) publishRegime(ctx context.Context, pub *publication) {
	p, b := pub.pair, &w.publisher
	if p.out.switched == nil {
		return
	}
	number := p.regime().Number
	texts := map[int64][]byte{number: []byte(p.out.switched.Text)}
	if old := number - processor.RegimesKept; old >= 0 {
		texts[old] = nil
	}
	for n, text := range texts {
		r := b.record(w.loop.config.Topics.Changelog, p.id)
		r.Key, r.Value = b.keep(policiesKey(n)), text
		p.changes = append(p.changes, state.Change{Circuit: policiesKey(n), Value: text})
		b.produce(ctx, w.client, r)
	}
}

// readings are policies that were read from a changelog, by version: partitions share them.
type readings struct {
	mu    sync.Mutex
	known map[string]*breaker.Policies
}

// regime reads the policies that the changelog of a partition keeps under a key.
func (r *readings) regime(key string, value []byte) (processor.Regime, error) {
	number, err := strconv.ParseInt(key[len(policiesKeyPrefix):], 10, 64)
	if err != nil {
		return processor.Regime{}, fmt.Errorf("policies of the changelog: key %q: %w", key, err)
	}
	text, err := readPolicies(value)
	if err != nil {
		return processor.Regime{}, fmt.Errorf("policies of the changelog, number %d: %w", number, err)
	}
	policies, err := breaker.Read("changelog", text)
	if err != nil {
		return processor.Regime{}, fmt.Errorf("policies of the changelog, number %d: %w", number, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.known[policies.Version]; known != nil {
		return processor.Regime{Number: number, Policies: known}, nil
	}
	if r.known == nil || len(r.known) >= 2*processor.RegimesKept {
		r.known = map[string]*breaker.Policies{}
	}
	r.known[policies.Version] = policies
	return processor.Regime{Number: number, Policies: policies}, nil
}

// regimes returns the regimes of a partition as the store has them, oldest first. It is empty where the partition is
// new, or where one is missing or is no longer held to be sound: then circuits come straight under what is in force.
// The error is a processor.ErrNewerValue where a newer version wrote one.
func (l *Loop) regimes(partition int32, newest int64) ([]processor.Regime, error) {
	var found []processor.Regime
	err := l.store.Under(partition, policiesKeyPrefix, func(key string, text []byte) error {
		r, err := l.readings.regime(key, text)
		if errors.Is(err, processor.ErrNewerValue) {
			return err
		}
		if err != nil {
			l.log.Warn("policies that were in force before cannot be read", "partition", partition, "err", err)
			return nil
		}
		found = append(found, r)
		return nil
	})
	slices.SortFunc(found, func(a, b processor.Regime) int { return cmp.Compare(a.Number, b.Number) })
	if n := len(found); n == 0 || found[n-1].Number != newest {
		found = nil
	}
	return found, err
}
