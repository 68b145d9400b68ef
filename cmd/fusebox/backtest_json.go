package main

import "github.com/fusebox-project/fusebox/processor/backtest"

// backtestJSON is what --json prints.
type backtestJSON struct {
	backtestSideJSON
	Records recordsJSON  `json:"records"`
	Compare *compareJSON `json:"compare,omitempty"`
	Gate    *gateJSON    `json:"gate,omitempty"` // What the limits of --truth came to.
}

// backtestSideJSON is what came of one set of policies.
type backtestSideJSON struct {
	Policies string              `json:"policies"` // The file, or builtin.
	Version  string              `json:"policy_version"`
	Circuits []*backtest.Circuit `json:"circuits"`
	Totals   backtest.Totals     `json:"totals"` // Without shadows.
	Truth    *backtest.Judged    `json:"truth,omitempty"`

	ShadowTruth  *backtest.Judged `json:"shadow_truth,omitempty"`  // The same of the shadows, where there are any.
	Notes        []string         `json:"notes,omitempty"`         // What a reader should know of the policies.
	UnknownKinds map[string]int64 `json:"unknown_kinds,omitempty"` // Outcomes by kinds that the policies do not know.
}

type recordsJSON struct {
	Read       int64 `json:"read"`
	Unreadable int64 `json:"unreadable"`
	Untimed    int64 `json:"untimed"`
}

// compareJSON is what came of the policies of --compare, and how that differs.
type compareJSON struct {
	backtestSideJSON
	backtest.Comparison `json:"differences"`
}

func (b *backtester) machineReadable() backtestJSON {
	in := b.input
	j := backtestJSON{b.sides[0].json(), recordsJSON{in.read, in.unreadable, in.untimed}, nil, b.gate()}
	if len(b.sides) == 2 {
		j.Compare = &compareJSON{b.sides[1].json(), backtest.Compare(&b.sides[0].report, &b.sides[1].report)}
	}
	return j
}

func (s *backtestSide) json() backtestSideJSON {
	j := backtestSideJSON{
		s.name, s.policies.Version, s.rows(), s.report.Totals(), s.judged, nil, s.notes(), s.unknown.Kinds,
	}
	if s.beside != nil {
		j.ShadowTruth = s.beside.judged
	}
	return j
}
