package console

import (
	"fmt"
	"slices"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// chart is a plot of outcomes over the longest window, by what became of them.
type chart struct {
	Label, From string
	Bars        []bar
}

// classes of outcomes, from the ground up.
var classes = []string{"ok", "bad", "gone", "none"}

// newChart stacks the outcomes of the window by time.
func newChart(l *live) *chart {
	const width, height, bins = 640.0, 118.0, 60
	var counts [bins][4]int64
	at, most := l.place(bins), int64(1)
	for _, p := range l.Points {
		counts[at(p.At)][classOf(p)] += p.Count
	}
	for _, c := range counts {
		most = max(most, c[0]+c[1]+c[2]+c[3])
	}
	c := &chart{Label: "Outcomes over the last " + l.span(), From: l.span() + " ago"}
	if l.Window == "" {
		c.From = "the oldest of them"
	}
	for i, count := range counts {
		y := 120.0
		for class, n := range count {
			if n == 0 {
				continue
			}
			h := height * float64(n) / float64(most)
			y -= h
			c.Bars = append(c.Bars, bar{
				Class: classes[class], Title: fmt.Sprintf("%d %s", n, [...]string{
					"accepted", "rejected", "transport failures", "neutral"}[class]),
				X: round(float64(i) * width / bins), Y: round(y), W: round(width/bins - 1), H: round(h),
			})
		}
	}
	return c
}

func classOf(p point) int {
	switch {
	case p.Role == "neutral":
		return 3
	case p.Kind == schemas.TransportFailure:
		return 2
	case p.Role == "failure":
		return 1
	}
	return 0
}

// stripKeys are what the colours of a strip mean.
func stripKeys(bars []bar) (keys []badge) {
	for _, k := range []badge{
		{"ok", "closed"}, {"warn", "half open, or degraded"}, {"bad", "open"}, {"held", "forced closed, or disabled"},
	} {
		if slices.ContainsFunc(bars, func(b bar) bool { return b.Class == k.Class }) {
			keys = append(keys, k)
		}
	}
	return keys
}

// strip plots the states of a circuit between two times, by its transitions, oldest first, and what it is now.
func strip(transitions []schemas.State, now *schemas.State, from, to time.Time) []bar {
	const width = 640.0
	total := to.Sub(from).Seconds()
	var bars []bar
	add := func(s *schemas.State, begin, end time.Time) {
		if begin.Before(from) {
			begin = from
		}
		if w := width * end.Sub(begin).Seconds() / total; w > 0 {
			bars = append(bars, bar{
				Class: newBadge(s).Class, X: round(width * begin.Sub(from).Seconds() / total), W: max(round(w), 0.5),
				Title: fmt.Sprintf("%s for %s from %s", newBadge(s).Word, schemas.Until(begin, end),
					begin.UTC().Format("2006-01-02 15:04:05")),
			})
		}
	}
	begin, state := from, schemas.State{State: now.State}
	if len(transitions) > 0 {
		state = schemas.State{State: transitions[0].Previous}
	}
	if now.Born.After(from) {
		begin = now.Born
	}
	for i := range transitions {
		t := &transitions[i]
		if t.ChangedAt.IsZero() || !t.ChangedAt.After(begin) {
			state = *t
			continue
		}
		add(&state, begin, t.ChangedAt)
		begin, state = t.ChangedAt, *t
	}
	if now.ChangedAt.After(begin) { // What time alone has changed.
		add(&state, begin, now.ChangedAt)
		begin = now.ChangedAt
	}
	add(now, begin, to)
	return bars
}
