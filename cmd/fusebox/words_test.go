package main

import (
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

func TestWrap(t *testing.T) {
	tests := []struct {
		text   string
		width  int
		indent string
		want   string
	}{
		{"one two three", 0, "", "one two three"},
		{"one two three", 7, "", "one two\nthree"},
		{"one two three", 9, "  ", "  one two\n  three"},
		{"a-word-longer-than-the-line b", 5, "", "a-word-longer-than-the-line\nb"},
		{"größe zwei", 10, "", "größe zwei"},
		{"", 10, " ", " "},
	}
	for _, tt := range tests {
		if got := wrap(tt.text, tt.width, tt.indent); got != tt.want {
			t.Errorf("wrap(%q, %d, %q) = %q, want %q", tt.text, tt.width, tt.indent, got, tt.want)
		}
	}
}

func TestHang(t *testing.T) {
	const red = "\x1b[31mone\x1b[0m"
	tests := []struct {
		text  string
		width int
		want  string
	}{
		{"one two three four", 0, "one two three four"},
		{"one two three four", 9, "one two\nthree\nfour"},
		{"  one two three", 9, "  one two\n  three"},
		{"  a   b   one two three\nrest", 20, "  a   b   one two\n          three\nrest"},
		{"  a much longer name  one two", 24, "  a much longer name one\n  two"},
		{red + " two three", 9, red + " two\nthree"},
		{red + "   one two three", 12, red + "   one\n      two\n      three"},
	}
	for _, tt := range tests {
		if got := hang(tt.text, tt.width); got != tt.want {
			t.Errorf("hang(%q, %d) = %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
}

func TestIn(t *testing.T) {
	now := time.Date(2026, 9, 14, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 250 * time.Millisecond: "250ms", 1400 * time.Millisecond: "1s", 90 * time.Second: "1m30s",
		time.Hour + 29*time.Second: "1h", 50 * time.Hour: "2d2h",
	} {
		if got := schemas.Until(now, now.Add(d)); got != want {
			t.Errorf("Until(%v ahead) = %q, want %q", d, got, want)
		}
	}
}

func TestHappening(t *testing.T) {
	closed := schemas.State{State: schemas.Closed, Epoch: 2, Sequence: 5}
	with := func(s schemas.State, change func(s *schemas.State)) schemas.State {
		s.Sequence++
		change(&s)
		return s
	}
	open := with(closed, func(s *schemas.State) { s.State, s.Epoch, s.Previous = schemas.Open, 3, schemas.Closed })
	granted := with(open, func(s *schemas.State) {
		s.State, s.Previous = schemas.HalfOpen, schemas.Open
		s.Leases = []schemas.Lease{{ID: "L1", Holder: "router-7"}}
	})
	forced := with(closed, func(s *schemas.State) {
		s.State, s.Previous, s.Epoch = schemas.ForcedOpen, schemas.Closed, 3
		s.Override = &schemas.OverrideInForce{Mode: schemas.ForceOpen, Actor: "ann"}
	})
	degraded := with(closed, func(s *schemas.State) { s.Degraded = &schemas.Cause{Rule: "watch"} })
	tests := []struct {
		name   string
		before *schemas.State
		after  schemas.State
		want   string
	}{
		{"first of all", nil, schemas.State{Sequence: 1}, "first seen, closed"},
		{"a trip", &closed, open, "closed -> open"},
		{"a trip, the first that was seen", nil, open, "closed -> open"},
		{"a grant", &open, granted, "open -> half_open, probe to router-7"},
		{"an override", &closed, forced, "closed -> forced_open"},
		{
			"another override", &forced, with(forced, func(s *schemas.State) { s.Epoch++ }),
			"forced_open -> forced_open",
		},
		{"the same of an override", nil, forced, "closed -> forced_open"},
		{"degraded", &closed, degraded, "degraded"},
		{"degraded, the first that was seen", nil, degraded, "degraded"},
		{"well again", &degraded, with(degraded, func(s *schemas.State) { s.Degraded = nil }), "no longer degraded"},
		{"a probe given back", &granted, with(granted, func(s *schemas.State) { s.Leases = nil }), "probe given back"},
		{
			"one success of two", &granted,
			with(granted, func(s *schemas.State) { s.Leases, s.Probe.Successes = nil, 1 }), "probe succeeded, 1 so far",
		},
		{
			"no verdict", &granted,
			with(granted, func(s *schemas.State) { s.Leases, s.Probe.Inconclusive = nil, 1 }),
			"probe without a verdict, 1 in a row",
		},
		{"a reset", &closed, with(closed, func(s *schemas.State) { s.Epoch++ }), "closed again"},
	}
	for _, tt := range tests {
		if got := happening(tt.before, &tt.after); got != tt.want {
			t.Errorf("%s: happening = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestFallbackOf(t *testing.T) {
	route := schemas.Route{
		Chain: []string{"a", "b", "c"}, ByCause: map[string][]string{"missing_evidence": {"a-old"}, "cancelled": {}},
	}
	tests := []struct {
		circuit, kind string
		want          int
		first         string
	}{
		{"a", "", 2, "b"}, {"b", "invalid_contract", 1, "c"}, {"c", "", 0, ""},
		{"a", "missing_evidence", 1, "a-old"}, {"a", "cancelled", 0, ""},
	}
	for _, tt := range tests {
		s := schemas.State{Circuit: tt.circuit}
		if tt.kind != "" {
			s.Cause = &schemas.Cause{Kind: tt.kind}
		}
		got := route.Next(&s)
		if len(got) != tt.want || len(got) > 0 && got[0] != tt.first {
			t.Errorf("Next(%s, cause %q) = %q, want %d that begin with %q",
				tt.circuit, tt.kind, got, tt.want, tt.first)
		}
	}
}

// TestDiffTellsWhatItWouldClose names the open circuits that lose their policy, and no other.
func TestDiffTellsWhatItWouldClose(t *testing.T) {
	records := map[string]known{}
	for name, state := range map[string]schemas.Phase{
		"a": schemas.Open, "b": schemas.HalfOpen, "c": schemas.Closed, "d": schemas.ForcedOpen, "e": schemas.Open,
	} {
		records[name] = known{State: schemas.State{Circuit: name, State: state}}
	}
	d := policyDiff{Lost: []string{"a", "b", "c", "d"}}
	d.close(records, noon)
	want := "new would at once close the open breaker for 2 circuits: a, b\n"
	if got := d.coverage("old", "new"); !strings.HasSuffix(got, want) {
		t.Errorf("it says %q, want %q at the end", got, want)
	}
}
