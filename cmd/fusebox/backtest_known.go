package main

import (
	"slices"

	"github.com/fusebox-project/fusebox/processor/backtest"
)

// knownBad returns when a circuit is known to have been bad, in seconds since 1970: what has no end until the last
// moment that is drawn.
func (s *backtestSide) knownBad(circuit string, last float64) [][2]float64 {
	known := [][2]float64{}
	if s.judged == nil {
		return known
	}
	for _, stretch := range s.judged.Stretches {
		if stretch.Circuit != circuit || len(known) == pageTrips {
			continue
		}
		to := last
		if !stretch.To.IsZero() {
			to = unix(stretch.To)
		}
		known = append(known, [2]float64{unix(stretch.From), to})
	}
	return known
}

// missed names the stretches of a circuit that were not found, though outcomes came in them.
func (s *backtestSide) missed(circuit string) (missed []string) {
	if s.judged == nil {
		return nil
	}
	for _, stretch := range s.judged.Stretches {
		if stretch.Circuit != circuit || stretch.Found || len(missed) == pageTrips {
			continue
		}
		words := "missed what is known to be bad from " + stamp(stretch.From)
		if !stretch.To.IsZero() {
			words += " to " + stamp(stretch.To)
		}
		if s.label != "" {
			words = s.label + ": " + words
		}
		missed = append(missed, words+", "+count(int(stretch.Outcomes), "outcome", "outcomes"))
	}
	return missed
}

// isFalse tells whether a trip of a circuit lies outside of all that is known to be bad.
func (s *backtestSide) isFalse(circuit string, trip *backtest.Trip) bool {
	return s.judged != nil && slices.ContainsFunc(s.judged.FalseTrips, func(f backtest.FalseTrip) bool {
		return f.Circuit == circuit && f.Index == trip.Index
	})
}
