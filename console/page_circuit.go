package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

const (
	historyShown = 50
	historySpan  = 24 * time.Hour
)

// circuitView is the page of one circuit.
type circuitView struct {
	frame
	overrideForm
	Circuit          string
	State            *schemas.State
	Badge            badge
	Since, Why, Next string
	Born             time.Time
	Routers          string
	Trigger          string
	AtTrip           string // What the cause counted, by kind.
	Fallback         string

	Live  live
	Span  string
	Chart *chart
	Empty string // Why there is no chart.
	Rules []ruleView
	Kinds []kindView

	Evidence       []schemas.Evidence
	HistorySpan    string
	Strip          []bar
	StripFrom      time.Time
	StripHalf      time.Time
	StripKeys      []badge
	History        []happening
	HistoryMissing string
	Facts          []breaker.Fact
}

// ruleView is a rule and what it compares now.
type ruleView struct {
	Name, Words, Action         string
	Compared, Fires             bool
	Observed, High, Max         float64
	ObservedText, ThresholdText string
	Seen                        string
}

// kindView is how many outcomes of a kind there are.
type kindView struct {
	Kind, Role string
	Count      int64
}

// happening is something that a circuit did.
type happening struct {
	At        time.Time
	What, Why string
	Epoch     int64
}

func (c *Console) circuitPage(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	now := time.Now()
	s, known, err := c.view.state(name, now)
	switch {
	case err != nil:
		w.Header().Set("Refresh", "1")
		c.trouble(w, http.StatusServiceUnavailable, "One moment", "The state topic is still being read.")
		return
	case !known:
		c.unknownPage(w, name)
		return
	}
	v := circuitView{
		frame: c.frame("circuit", name), overrideForm: c.newOverrideForm(name, false),
		Circuit: name, Born: s.Born, State: &s, Badge: newBadge(&s), Why: s.Because(),
		Next: c.inForce().Next(&s, now), Routers: routersDo(&s, now), HistorySpan: "24 hours",
	}
	if !s.ChangedAt.IsZero() {
		v.Since = schemas.Until(s.ChangedAt, now)
	}
	if s.Trigger.Topic != "" {
		v.Trigger = fmt.Sprintf("%s, partition %d, offset %d", s.Trigger.Topic, s.Trigger.Partition, s.Trigger.Offset)
	} else {
		v.Trigger = "a change of the policies"
	}
	if s.Cause != nil {
		v.Evidence, v.AtTrip = s.Cause.Evidence, atTrip(s.Cause)
	}
	v.windows(c.look(r.Context(), name))
	c.explain(&v)
	c.past(r.Context(), &v)
	c.render(w, http.StatusOK, "circuit", v)
}

// atTrip says what a cause counted.
func atTrip(c *schemas.Cause) string {
	var parts []string
	for _, kind := range c.Kinds() {
		parts = append(parts, fmt.Sprintf("%d %s", c.ByKind[kind], kind))
	}
	words := strings.Join(parts, ", ")
	if c.BySuccess {
		words += "; the outcome that tripped it was a success"
	}
	return words
}

// routersDo says what routers do with calls now.
func routersDo(s *schemas.State, now time.Time) string {
	switch what, retry := s.Admission(now, "", 0); {
	case !s.Enforced && s.State != schemas.Closed:
		return "call it all the same: the policy is not enforced"
	case s.State == schemas.Closed && len(s.Ramp) > 0:
		return fmt.Sprintf("send it %s of the calls, until %s UTC", schemas.Percent(s.Ramp[0].Share),
			s.Ramp[0].Until.UTC().Format("15:04:05"))
	case what == schemas.Admits:
		return "call it"
	case what == schemas.Probes:
		return "do not call it; the first to get a lease tests it"
	case retry.IsZero():
		return "do not call it, until an operator says so"
	default:
		return "do not call it; they come back in " + schemas.Until(now, retry)
	}
}

// windows fills in what the windows hold.
func (v *circuitView) windows(l live) {
	v.Live = l
	if !l.Owned {
		v.Live.Missing = sentence(l.Missing)
		return
	}
	v.Span = l.span()
	if len(l.Points) > 0 {
		v.Chart = newChart(&l)
	}
	v.Empty = emptyWindows(v.State.State)
	counts := map[kindView]int64{}
	for _, p := range l.Points {
		counts[kindView{Kind: p.Kind, Role: p.Role}] += p.Count
	}
	for k, n := range counts {
		v.Kinds = append(v.Kinds, kindView{k.Kind, k.Role, n})
	}
	slices.SortFunc(v.Kinds, func(a, b kindView) int {
		if a.Count != b.Count {
			return int(min(max(b.Count-a.Count, -1), 1))
		}
		return strings.Compare(a.Kind, b.Kind)
	})
	for i := range l.Rules {
		v.Rules = append(v.Rules, newRuleView(&l.Rules[i]))
	}
}

// emptyWindows says why the windows of a circuit hold nothing.
func emptyWindows(p schemas.Phase) string {
	switch p {
	case schemas.Open, schemas.ForcedOpen:
		return "The windows are empty, as outcomes do not enter them while the circuit is " + wordOf(p) +
			". Those that still come are counted as while_open in fusebox_outcomes_total, and change nothing."
	case schemas.HalfOpen:
		return "The windows are empty, as outcomes do not enter them before the circuit is closed. Those of probes " +
			"are counted with the leases; others are counted as while_open in fusebox_outcomes_total."
	case schemas.Disabled:
		return "The windows are empty, as nothing is counted while the circuit is disabled."
	}
	return "The windows are empty: no outcome lately."
}

func newRuleView(r *liveRule) ruleView {
	v := ruleView{
		Name: r.Name, Action: "opens", Fires: r.Fires, Compared: r.Type != breaker.Immediate.String(),
		Observed: r.Observed, High: r.Threshold, Max: max(1.5*r.Threshold, r.Observed),
		ObservedText: schemas.Decimal(r.Observed, 3), ThresholdText: schemas.Decimal(r.Threshold, 3),
	}
	if strings.HasSuffix(r.Type, breaker.Ratio.String()) {
		v.Max = max(1, r.Observed)
	}
	if r.Action == "degrade" {
		v.Action = "degrades"
	}
	if r.Window != "" || r.Last > 0 {
		v.Seen = fmt.Sprint(r.Throughput)
	}
	if r.Minimum > 0 {
		v.Seen += fmt.Sprintf(" of at least %d", r.Minimum)
	}
	return v
}

// explain fills in what the policies in force say of the circuit.
func (c *Console) explain(v *circuitView) {
	published, policies := c.view.inForce(), c.inForce()
	if policies == nil {
		return
	}
	v.Facts = policies.Facts(v.Circuit)
	words := map[string]string{}
	for _, f := range v.Facts {
		if name, isRule := strings.CutPrefix(f.About, "rule "); isRule {
			words[name] = f.Says
		}
	}
	for i := range v.Rules {
		v.Rules[i].Words = words[v.Rules[i].Name]
	}
	if route := schemas.RouteOf(published.Routes, v.Circuit); route != nil {
		v.Fallback = route.Fallback(v.State)
	}
}

// inForce returns the policies in force, nil where nobody has published any and where a newer version wrote them.
func (c *Console) inForce() *breaker.Policies {
	published := c.view.inForce()
	if published == nil {
		return nil
	}
	if known := c.read.Load(); known != nil && known.Version == published.Version {
		return known
	}
	policies, err := breaker.Read("policies", []byte(published.Text))
	if published.Text == "" {
		policies, err = breaker.Builtin(), nil
	}
	if err != nil {
		return nil
	}
	c.read.Store(policies)
	return policies
}

// past fills in what the circuit did.
func (c *Console) past(ctx context.Context, v *circuitView) {
	since := v.Now.Add(-historySpan)
	found, complete, err := c.history(ctx, v.Circuit, since, historyShown, true)
	if err != nil {
		v.HistoryMissing = "What it did is not known now: " + err.Error()
		return
	}
	if !complete {
		v.HistoryMissing = "There was no time to read it all."
	}
	var states []schemas.State
	var shown time.Time
	for _, e := range found {
		s, err := schemas.DecodeState(e.text)
		if err != nil {
			continue
		}
		v.History = append(v.History, newHappening(&s, time.UnixMilli(e.id.at), shown))
		shown = s.ChangedAt
		if !s.IsShadow {
			states = append(states, s)
		}
	}
	slices.Reverse(v.History)
	v.StripFrom = since
	if v.Born.After(since) && v.Now.Sub(v.Born) >= time.Second {
		v.StripFrom = v.Born
	}
	v.StripHalf = v.StripFrom.Add(v.Now.Sub(v.StripFrom) / 2)
	v.Strip = strip(states, v.State, v.StripFrom, v.Now)
	v.StripKeys = stripKeys(v.Strip)
}

// newHappening tells of a record that was published at a time, and before which one told of a change. A record of
// something else than a change, as of a probe, is of the time at which it was published.
func newHappening(s *schemas.State, published, before time.Time) happening {
	h := happening{At: s.ChangedAt, Why: s.Because(), Epoch: s.Epoch}
	h.What = wordOf(s.Previous) + " to " + wordOf(s.State)
	if s.ChangedAt.Equal(before) {
		h.At = published
	}
	switch {
	case s.IsShadow:
		h.What = "shadow " + s.Policy + ": would be " + wordOf(s.State)
	case s.Sequence == 1:
		h.At, h.What = s.Born, "first heard of"
	case s.State == schemas.HalfOpen && len(s.Leases) > 0:
		h.What, h.Why = "a probe is out", "by "+s.Leases[0].Holder
	case s.State == schemas.HalfOpen && s.Probe.Inconclusive > 0:
		h.What, h.Why = fmt.Sprintf("a probe ended without a verdict, %d in a row", s.Probe.Inconclusive), ""
	case !s.ChangedAt.Equal(before) && breaker.Recovers(s):
		h.Why = "the last probe succeeded"
	case s.Degraded != nil:
		h.At, h.What = s.Degraded.At, "degraded"
	}
	if h.At.IsZero() {
		h.At = s.Born
	}
	return h
}
