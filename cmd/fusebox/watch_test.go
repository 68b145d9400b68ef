package main

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

// watched returns what a watcher prints of states of one circuit, whose records were all written at one time, without
// the dates.
func watched(states ...schemas.State) string {
	var out strings.Builder
	w := newWatcher(&out, "", false)
	for i := range states {
		states[i].Circuit, states[i].Sequence = "c", int64(i+2)
		if !states[i].IsShadow && states[i].Policy == "" {
			states[i].Policy = "p"
		}
		value := schemas.AppendState(nil, &states[i])
		_ = w.show(&kgo.Record{Value: value, Timestamp: noon.Add(10 * time.Minute)}) // A builder takes all.
	}
	return strings.ReplaceAll(out.String(), noon.Local().Format("2006-01-02 "), "")
}

var noon = time.Date(2026, 9, 14, 12, 0, 0, 0, time.UTC)

// local returns what the clock of this machine shows some time after noon.
func local(after time.Duration) string { return noon.Add(after).Local().Format("15:04:05") }

func TestWatchTellsWhenAndWhy(t *testing.T) {
	cause := &schemas.Cause{
		Rule: "down", Type: "consecutive", Kind: "transport_failure", Observed: 5, Threshold: 5, At: noon,
		ByKind: map[string]int64{"transport_failure": 5}, Weights: map[string]float64{"transport_failure": 5},
	}
	open := schemas.State{State: schemas.Open, Epoch: 1, Born: noon, ChangedAt: noon, Cause: cause}
	probe := schemas.State{
		State: schemas.HalfOpen, Previous: schemas.Open, Epoch: 1, Born: noon, ChangedAt: noon.Add(time.Minute),
		Cause: cause, Leases: []schemas.Lease{{ID: "L", Holder: "r"}},
	}
	back := probe
	back.Leases = nil
	reset := schemas.State{
		State: schemas.Closed, Previous: schemas.HalfOpen, Epoch: 2, Born: noon, ChangedAt: noon.Add(2 * time.Minute),
		Operator: &schemas.Operator{Mode: schemas.Reset, Actor: "me", Reason: "fixed"},
	}
	degraded := schemas.State{Epoch: 2, Born: noon, ChangedAt: reset.ChangedAt, Degraded: new(*cause)}
	degraded.Degraded.At = noon.Add(3 * time.Minute)
	want := local(0) + "  c  closed -> open  epoch 1: down: 5 outcomes in a row failed (threshold 5), " +
		"all transport_failure (5)\n" +
		local(time.Minute) + "  c  open -> half_open, probe to r  epoch 1\n" +
		local(10*time.Minute) + "  c  probe given back  epoch 1\n" +
		local(2*time.Minute) + "  c  half_open -> closed  epoch 2: reset by me: fixed\n" +
		local(3*time.Minute) + "  c  degraded  epoch 2: down: 5 outcomes in a row failed (threshold 5), " +
		"all transport_failure (5)\n"
	if got := watched(open, probe, back, reset, degraded); got != want {
		t.Errorf("watch printed\n%swant\n%s", got, want)
	}
}

func TestWatchTellsPoliciesOnce(t *testing.T) {
	var out strings.Builder
	w := newWatcher(&out, "", false)
	for _, at := range []struct {
		partition int32
		version   string
	}{{0, "a"}, {1, "a"}, {2, "a"}, {1, "b"}, {0, "b"}, {0, "a"}, {1, "a"}, {0, "a"}} {
		s := schemas.PolicySwitch{Policies: schemas.PoliciesInForce{Version: at.version}}
		_ = w.showSwitch(&kgo.Record{Partition: at.partition}, &s) // A builder takes all.
	}
	var versions string
	for line := range strings.Lines(out.String()) {
		_, rest, _ := strings.Cut(line, "policies ")
		versions += rest[:1]
	}
	if versions != "abaa" {
		t.Errorf("watch told of policies %q, want abaa: each switch once, and the restart at the end", versions)
	}
}

func TestBecause(t *testing.T) {
	ann := &schemas.OverrideInForce{
		Mode: schemas.ForceOpen, Actor: "ann", Reason: "drill", Until: noon, Then: schemas.Open,
	}
	forced := schemas.State{
		State: schemas.ForcedOpen, Override: ann,
		Operator: &schemas.Operator{Mode: schemas.ForceOpen, Actor: "ann", Reason: "drill"},
	}
	tests := []struct {
		name  string
		state schemas.State
		want  string
	}{
		{"well", schemas.State{}, ""},
		{"overridden", forced, "by ann: drill"},
		{"an override that has run out", forced.At(noon), "an override (force_open) has ended"},
		{
			"cleared", schemas.State{Operator: &schemas.Operator{Mode: schemas.Clear, Actor: "ann", Reason: "over"}},
			"clear by ann: over",
		},
		{
			"closed as it lost its policy", schemas.State{Previous: schemas.HalfOpen},
			"no policy matches it any more",
		},
		{
			"closed as its policy is off", schemas.State{Previous: schemas.Open, Policy: "p"},
			"its policy was switched off",
		},
		{
			"an override that ended", schemas.State{State: schemas.Open, Previous: schemas.ForcedOpen},
			"an override (force_open) has ended",
		},
	}
	for _, tt := range tests {
		if got := tt.state.Because(); got != tt.want {
			t.Errorf("%s: because = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestTable(t *testing.T) {
	rows := [][]string{{"STATE", "CIRCUIT", "NEXT"}, {"open", "a:long:name", "probe due"}, {"closed", "b", ""}}
	tests := []struct {
		width int
		want  string
	}{
		{0, "STATE   CIRCUIT      NEXT|open    a:long:name  probe due|closed  b"},
		{30, "STATE   CIRCUIT      NEXT|open    a:long:name  probe due|closed  b"},
		{29, "STATE   CIRCUIT\n    NEXT|open    a:long:name\n    probe due|closed  b"},
		{12, "STATE\n    CIRCUIT\n    NEXT|open\n    a:long:name\n    probe due|closed\n    b"},
	}
	for _, tt := range tests {
		if got := strings.Join(table(rows, tt.width, nil), "|"); got != tt.want {
			t.Errorf("table of %d columns = %q, want %q", tt.width, got, tt.want)
		}
	}
}

func TestReflow(t *testing.T) {
	text := "One two\nthree four five.\nsix\n\n  item  of two words\n  b     c\nend"
	want := "One two three four\nfive. six\n\n  item  of two words\n  b     c\nend"
	if got := reflow(text, 20); got != want {
		t.Errorf("reflow = %q, want %q", got, want)
	}
}

// TestWatchTellsShadows tells what a shadow would have done in words of its own, once, and never as the circuit's.
func TestWatchTellsShadows(t *testing.T) {
	cause := &schemas.Cause{
		Rule: "two", Type: "consecutive", Kind: "transport_failure", Observed: 2, Threshold: 2, At: noon,
		ByKind: map[string]int64{"transport_failure": 2}, Weights: map[string]float64{"transport_failure": 2},
	}
	well := schemas.State{Born: noon.Add(-time.Hour)}
	begun, open, back, gone := well, well, well, well
	begun.Shadow = &schemas.Shadow{Policy: "careful", Since: noon.Add(-time.Minute)}
	open.Shadow = &schemas.Shadow{
		Policy: "careful", State: schemas.Open, Epoch: 1, Since: noon, Trips: 1, Cause: cause,
	}
	back.Shadow = &schemas.Shadow{Policy: "careful", Epoch: 2, Since: noon.Add(time.Minute), Trips: 1}
	own := schemas.State{
		IsShadow: true, Policy: "careful", State: schemas.Open, Epoch: 1, ChangedAt: noon, Cause: cause,
	}
	probed, closed := own, own
	probed.State, probed.ChangedAt = schemas.HalfOpen, noon.Add(time.Minute)
	closed.State, closed.ChangedAt, closed.Cause, closed.Epoch = schemas.Closed, noon.Add(time.Minute), nil, 2
	tripped := back
	tripped.State, tripped.Epoch, tripped.ChangedAt, tripped.Cause = schemas.Open, 1, noon.Add(2*time.Minute), cause
	why := "two: 2 outcomes in a row failed (threshold 2), all transport_failure (2)\n"
	want := local(10*time.Minute) + "  c  careful judges beside from here on  epoch 0\n" +
		local(0) + "  c  shadow careful would be open: " + why +
		local(time.Minute) + "  c  shadow careful would be closed\n" +
		local(10*time.Minute) + "  c  no policy judges beside any more, careful did  epoch 0\n" +
		local(2*time.Minute) + "  c  closed -> open  epoch 1: " + why
	got := watched(well, begun, open, own, back, probed, closed, gone, tripped)
	if _, rest, _ := strings.Cut(got, "\n"); rest != want {
		t.Errorf("watch printed\n%swant after the first line\n%s", got, want)
	}
	if got, want := watched(open, own), local(0)+"  c  shadow careful would be open: "+why; got != want {
		t.Errorf("watch from the middle on printed\n%swant\n%s", got, want)
	}
}

// TestWatchTellsReloads tells what a change of policies did to circuits, and never an old cause as its reason.
func TestWatchTellsReloads(t *testing.T) {
	cause := &schemas.Cause{Rule: "two", Type: "consecutive", Observed: 2, Threshold: 2, At: noon}
	open := schemas.State{
		State: schemas.Open, Policy: "p", Epoch: 1, Born: noon, ChangedAt: noon, Cause: cause,
		Trigger: schemas.Trigger{Topic: "o"},
		Shadow:  &schemas.Shadow{Policy: "careful", State: schemas.Open, Cause: cause},
	}
	promoted, off, probed := open, open, open
	promoted.Policy, promoted.Shadow = "careful", nil
	off.State, off.Previous, off.Epoch, off.Cause = schemas.Closed, schemas.Open, 2, nil
	off.Trigger, off.Shadow, off.ChangedAt = schemas.Trigger{}, nil, noon.Add(time.Minute)
	probed.State, probed.Previous, probed.Probe = schemas.HalfOpen, schemas.Open, schemas.Probe{Successes: 1}
	back := off
	back.Previous, back.Trigger = schemas.HalfOpen, open.Trigger
	gone := schemas.State{Policy: "p", Born: noon, Trigger: open.Trigger}
	at := local(time.Minute) + "  c  "
	later := local(10*time.Minute) + "  c  "
	for _, tt := range []struct {
		name string
		seen []schemas.State
		want string
	}{
		{"promoted", []schemas.State{open, promoted},
			later + "policy careful judges from here on; it was the shadow  epoch 1"},
		{"off", []schemas.State{open, off}, at + "open -> closed  epoch 2: its policy was switched off"},
		{"two probes", []schemas.State{open, probed, back}, at + "half_open -> closed  epoch 2: 2 probes succeeded"},
		{"from there on", []schemas.State{back}, at + "half_open -> closed  epoch 2: the probe succeeded"},
		{"never changed", []schemas.State{gone},
			later + "no policy judges beside any more, or no longer degraded  epoch 0"},
	} {
		lines := strings.Split(strings.TrimSpace(watched(tt.seen...)), "\n")
		if got := lines[len(lines)-1]; got != tt.want {
			t.Errorf("%s: watch printed %q, want %q", tt.name, got, tt.want)
		}
	}
}
