package client

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

// check returns what of an outcome no reader would accept, or nothing.
func (o *Outcome) check() error {
	switch {
	case o.Kind == "":
		return ErrNoKind
	case len(o.Kind) > schemas.MaxName:
		return fmt.Errorf("the outcome's kind has %d bytes, must have at most %d", len(o.Kind), schemas.MaxName)
	case len(o.ID) > schemas.MaxText:
		return fmt.Errorf("the outcome's id has %d bytes, must have at most %d", len(o.ID), schemas.MaxText)
	case o.Severity > schemas.Critical || o.Evaluator.Type > schemas.Human:
		return fmt.Errorf("the outcome has severity %d and evaluator type %d: there is none such",
			o.Severity, o.Evaluator.Type)
	case !counts(o.InputTokens) || !counts(o.OutputTokens):
		return fmt.Errorf("the outcome has %d input and %d output tokens, must be from 0 to %d",
			o.InputTokens, o.OutputTokens, int64(schemas.MaxWhole))
	case o.Latency < 0 || o.RetryAfter < 0:
		return fmt.Errorf("the outcome has latency %v and retry after %v, must not be negative",
			o.Latency, o.RetryAfter)
	case o.moment().Year() < 1 || o.moment().Year() > 9999:
		return fmt.Errorf("the outcome is of the year %d, which no record can say", o.moment().Year())
	}
	return nil
}

// ErrUnknownKind says that no policy in force knows an outcome's kind. The outcome is taken all the same, as one that
// is no evidence about the route.
var ErrUnknownKind = errors.New("no policy in force knows the kind")

// knows returns an ErrUnknownKind that says which kind may be meant, or nothing.
func knows(p *breaker.Policies, kind string) error {
	if number, _ := p.Kind(kind); number != 0 {
		return nil
	}
	if near := breaker.Nearest(kind, p.Kinds()); near != "" {
		return fmt.Errorf("%w %q: did you mean %s?", ErrUnknownKind, kind, near)
	}
	return fmt.Errorf("%w %q", ErrUnknownKind, kind)
}

// moment returns the outcome's own time as a record says it.
func (o *Outcome) moment() time.Time { return o.Time.UTC().Round(time.Millisecond) }

func counts(n int64) bool { return n >= 0 && n <= schemas.MaxWhole }

// record returns the outcome of a lease's call as it stands on the wire. Of a zero lease there is a circuit alone.
func (o *Outcome) record(l *Lease) (schemas.Outcome, error) {
	if err := schemas.CheckCircuit(l.circuit); err != nil {
		return schemas.Outcome{}, err
	}
	if err := o.check(); err != nil {
		return schemas.Outcome{}, err
	}
	cost, ok := schemas.Micros(o.CostUSD)
	if !ok {
		return schemas.Outcome{}, fmt.Errorf("the outcome costs %v USD, must be from 0 to %d",
			o.CostUSD, int64(schemas.MaxWhole/1_000_000))
	}
	return schemas.Outcome{
		ID: shown(o.ID), Circuit: l.circuit, Kind: o.Kind, Severity: o.Severity,
		ReasonCode: shown(o.ReasonCode), Reason: shown(o.Reason), Stage: shown(o.Stage),
		Evaluator: schemas.Evaluator{
			Name: shown(o.Evaluator.Name), Version: shown(o.Evaluator.Version), Type: o.Evaluator.Type,
		},
		Time: o.moment(), LatencyMS: milliseconds(o.Latency),
		InputTokens: o.InputTokens, OutputTokens: o.OutputTokens, CostMicros: cost,
		RetryAfterMS: milliseconds(o.RetryAfter),
		Provider:     shown(o.Provider), Model: shown(o.Model), Tenant: shown(o.Tenant),
		FallbackFrom: shown(o.FallbackFrom), EvidenceRef: shown(o.EvidenceRef), TraceID: shown(o.TraceID),
		Epoch: l.epoch, HasEpoch: l.sink != nil && !l.blind, Lease: l.ID(), Count: 1,
	}, nil
}

// shown returns a text as it may be sent: valid, without control characters, and cut.
func shown(text string) string {
	return schemas.Cut(strings.ToValidUTF8(text, "\uFFFD"), schemas.MaxText)
}

func milliseconds(d time.Duration) int64 { return d.Round(time.Millisecond).Milliseconds() }
