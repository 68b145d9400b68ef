package console

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

const (
	rowsShown   = 50
	looksWithin = 300 * time.Millisecond // For the plots of a page; those that come later are left out.
)

// circuitsView is the page of all circuits.
type circuitsView struct {
	frame
	overrideForm
	Counts       []countView
	Match, State string
	Rows         []row
	Empty        string
	Wider        string // A glob that finds more, where a name finds nothing; and its link.
	WiderLink    string

	First, Last, Total int
	Before, After      string
}

// countView is how many circuits are in a state.
type countView struct {
	Badge  badge
	N      int
	Link   string
	Chosen bool
}

// row is a circuit in the list.
type row struct {
	Badge                    badge
	Circuit, Link, Shadow    string
	Since, Why, Next         string
	ChangedAt                time.Time
	Acceptance, Availability *spark
	Then                     *ratios // Where the windows are empty, as the circuit is open.
	None                     string  // Why there are none.
}

// ratios are those that a cause tells of, in words.
type ratios struct{ Rule, Acceptance, Availability string }

// spark is a small plot of a share over the longest window.
type spark struct {
	Label, Value string
	Bars         []bar
}

// bar is a rectangle of a plot.
type bar struct {
	Class, Title string
	X, Y, W, H   float64
}

func (c *Console) circuitsPage(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	page, _ := strconv.Atoi(asked.Get("page")) // What is no number is the first page.
	page = min(max(page, 1), math.MaxInt32/rowsShown)
	v := circuitsView{
		frame: c.frame("circuits", "Circuits"), Match: asked.Get("match"), State: asked.Get("state"),
	}
	v.overrideForm = c.newOverrideForm(v.Match, true)
	q := query{match: breaker.Glob(v.Match), worst: true, skip: (page - 1) * rowsShown, limit: rowsShown}
	if phase, ok := schemas.PhaseOf(v.State); ok {
		q.states = []schemas.Phase{phase}
	} else {
		v.State = ""
	}
	states, more, err := c.view.page(q, v.Now)
	if err != nil {
		v.Notice = "The state topic is still being read; this page comes back by itself."
		w.Header().Set("Refresh", "1")
		c.render(w, http.StatusServiceUnavailable, "circuits", v)
		return
	}
	v.count(c.view.counts(q.match, v.Now))
	v.Rows = c.rows(r.Context(), states, v.Now)
	v.First, v.Last = q.skip+1, q.skip+len(v.Rows)
	if page > 1 {
		v.Before = v.link(page - 1)
	}
	if more {
		v.After = v.link(page + 1)
	}
	v.Empty = "No circuit has an outcome yet. Send some with fusebox emit."
	if v.Match != "" || v.State != "" || page > 1 {
		v.Empty = "No circuit is like that."
	}
	if v.Match != "" && !strings.ContainsAny(v.Match, "*?") && len(v.Rows) == 0 {
		v.Empty = "No circuit has the whole name " + v.Match + ". This is a glob: * is any run of characters, ? is one."
		wider := circuitsView{Match: "*" + v.Match + "*", State: v.State}
		v.Wider, v.WiderLink = wider.Match, wider.link(1)
	}
	c.render(w, http.StatusOK, "circuits", v)
}

// count fills in how many circuits are in each state.
func (v *circuitsView) count(by map[schemas.Phase]int, degraded int) {
	for _, phase := range []schemas.Phase{
		schemas.Open, schemas.HalfOpen, schemas.ForcedOpen, schemas.Disabled, schemas.ForcedClosed, schemas.Closed,
	} {
		n := by[phase]
		if n == 0 && phase != schemas.Open && phase != schemas.Closed {
			continue
		}
		b := newBadge(&schemas.State{State: phase})
		if phase == schemas.Closed && degraded > 0 {
			b.Word += fmt.Sprintf(" (%d degraded)", degraded)
		}
		of := circuitsView{Match: v.Match, State: phase.String()}
		v.Counts = append(v.Counts, countView{b, n, of.link(1), v.State == phase.String()})
		if v.State == "" || v.State == phase.String() {
			v.Total += n
		}
	}
}

// link is a page of the same list.
func (v *circuitsView) link(page int) string {
	q := url.Values{}
	if page > 1 {
		q.Set("page", strconv.Itoa(page))
	}
	if v.Match != "" {
		q.Set("match", v.Match)
	}
	if v.State != "" {
		q.Set("state", v.State)
	}
	return "/?" + q.Encode()
}

// rows returns the rows of circuits, with plots of those whose windows are known here.
func (c *Console) rows(ctx context.Context, states []schemas.State, now time.Time) []row {
	ctx, cancel := context.WithTimeout(ctx, looksWithin)
	defer cancel()
	rows, judges := make([]row, 0, len(states)), c.inForce()
	for i := range states {
		s := &states[i]
		r := row{
			Badge: newBadge(s), Circuit: s.Circuit, Link: circuitLink(s.Circuit), Why: s.Because(),
			Next: judges.Next(s, now), ChangedAt: s.ChangedAt,
		}
		if !s.ChangedAt.IsZero() {
			r.Since = schemas.Until(s.ChangedAt, now)
		}
		if s.Shadow != nil && s.Shadow.State != schemas.Closed {
			r.Shadow = "shadow " + s.Shadow.Policy + " would be " + wordOf(s.Shadow.State)
		}
		if ctx.Err() == nil {
			l := c.look(ctx, s.Circuit)
			r.Then, r.None = atTheTrip(s), "–"
			if s.State != schemas.Closed && s.State != schemas.ForcedClosed {
				r.None = "none while " + wordOf(s.State)
			}
			r.Acceptance = l.spark("acceptance", l.Acceptance, func(p point) bool { return p.Kind == schemas.Accepted })
			r.Availability = l.spark("availability", l.Availability,
				func(p point) bool { return p.Kind != schemas.TransportFailure })
		}
		rows = append(rows, r)
	}
	return rows
}

// atTheTrip returns the ratios at the trip, where the rule that fired saw all sorts of outcomes; nil elsewhere.
func atTheTrip(s *schemas.State) *ratios {
	if s.Cause == nil || s.Cause.Type != breaker.Ratio.String() || s.Cause.Throughput == 0 {
		return nil
	}
	n, by := float64(s.Cause.Throughput), s.Cause.ByKind
	return &ratios{
		Rule: s.Cause.Rule, Acceptance: schemas.Percent(float64(by[schemas.Accepted]) / n),
		Availability: schemas.Percent(1 - float64(by[schemas.TransportFailure])/n),
	}
}

// spark plots which share of the evidence is good over the window; nil where there is none.
func (l *live) spark(what string, share *float64, good func(point) bool) *spark {
	if share == nil {
		return nil
	}
	const width, height, bins = 120.0, 26.0, 24
	s := &spark{Value: schemas.Percent(*share)}
	s.Label = fmt.Sprintf("%s of %s over the last %s", what, s.Value, l.span())
	all, well := make([]int64, bins), make([]int64, bins)
	at := l.place(bins)
	for _, p := range l.Points {
		if p.Role == "neutral" {
			continue
		}
		i := at(p.At)
		all[i] += p.Count
		if good(p) {
			well[i] += p.Count
		}
	}
	for i, n := range all {
		if n == 0 {
			continue
		}
		up := height * float64(well[i]) / float64(n)
		x, w := round(float64(i)*width/bins), round(width/bins-0.5)
		s.Bars = append(s.Bars, bar{Class: "ok", X: x, Y: round(27 - up), W: w, H: round(up)})
		if down := height - up; down > 0 {
			s.Bars = append(s.Bars, bar{Class: "bad", X: x, Y: 1, W: w, H: round(down)})
		}
	}
	return s
}

// span is the length of the window in words.
func (l *live) span() string {
	if l.Window != "" {
		return l.Window
	}
	return number(int(l.Last), "outcome")
}

// place returns in which of some bins of the window a time lies. A window by number reaches back to its oldest outcome.
func (l *live) place(bins int) func(time.Time) int {
	end, begin := *l.At, *l.At
	if length, err := time.ParseDuration(l.Window); err == nil {
		begin = end.Add(-length)
	} else if len(l.Points) > 0 {
		begin = slices.MinFunc(l.Points, func(a, b point) int { return a.At.Compare(b.At) }).At
	}
	width := max(end.Sub(begin), time.Millisecond)
	return func(t time.Time) int {
		return min(max(int(int64(t.Sub(begin))/max(int64(width)/int64(bins), 1)), 0), bins-1)
	}
}

// round keeps a page small.
func round(x float64) float64 { return math.Round(x*10) / 10 }

// sentence makes a sentence of words.
func sentence(words string) string {
	if words == "" {
		return ""
	}
	return strings.ToUpper(words[:1]) + words[1:]
}
