package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/schemas"
)

// story tells a demo, one line an event: when, where, what.
type story struct {
	out   io.Writer
	paint palette

	mu      sync.Mutex // Guards what follows.
	second  map[string]answers
	askers  []string  // Routers that asked for the lease that is to be had.
	due     bool      // That a probe is due was told.
	opened  time.Time // When the primary opened first since it was last closed.
	instead answers   // Of fallbacks since then.
}

// answers counts the answers of a route.
type answers struct {
	all, accepted int
	latencyMS     int64 // Of all together.
}

const placeWidth = 16 // Of the widest name of a route.

func newStory(out io.Writer) *story {
	return &story{out: out, paint: paletteFor(out), second: make(map[string]answers)}
}

// run tells every second how the routes did, until the context ends.
func (s *story) run(ctx context.Context, gate *client.Gate, script *script) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if n%10 == 0 {
				s.summary()
			}
			if says := script.begin(now); says != "" {
				s.say("behind it all", s.paint.faint, says)
			}
			state := gate.State(demoPrimary)
			s.probeDue(state.ProbeDue(now))
		}
	}
}

// answered counts an answer. What becomes of a probe is told on its own.
func (s *story) answered(circuit string, probe bool, o *client.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add := func(a answers) answers {
		a.all++
		a.latencyMS += o.Latency.Milliseconds()
		if o.Kind == client.Accepted {
			a.accepted++
		}
		return a
	}
	if !probe {
		s.second[circuit] = add(s.second[circuit])
	}
	if o.FallbackFrom != "" {
		s.instead = add(s.instead)
	}
}

// asked notes that a router asked for the lease.
func (s *story) asked(router string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.askers = append(s.askers, router)
}

// summary tells of each route that had calls how they went.
func (s *story) summary() {
	s.mu.Lock()
	second := s.second
	s.second = make(map[string]answers)
	s.mu.Unlock()
	for _, circuit := range slices.Sorted(maps.Keys(second)) {
		a := second[circuit]
		share := float64(a.accepted) / float64(a.all)
		paint := s.paint.good
		if share < 0.75 {
			paint = s.paint.bad
		}
		slow := time.Duration(a.latencyMS/int64(a.all)) * time.Millisecond
		s.write(place(circuit), fmt.Sprintf("%2d %s 100%% HTTP 200, %s, mean %.1f s", a.all,
			plural(a.all, "answer, ", "answers,"), paint(fmt.Sprintf("%4s accepted", percent(share))), slow.Seconds()))
	}
}

// probeDue tells once that a probe is due.
func (s *story) probeDue(due bool) {
	s.mu.Lock()
	tell := due && !s.due
	s.due = due
	s.mu.Unlock()
	if tell {
		s.say(place(demoPrimary), s.paint.warn, "the break is over: one call may test the route")
	}
}

// tell tells what a new state of the primary means.
func (s *story) tell(before, after *schemas.State, fallback string) {
	lease := granted(before, after)
	switch {
	case after.State == schemas.Open && before.State == schemas.HalfOpen:
		s.say(place(after.Circuit), s.paint.bad, fmt.Sprintf("OPEN again: %s; the next probe is due in %s",
			after.Because(), tenths(after.RetryAt.Sub(after.ChangedAt))))
	case after.State == schemas.Open && before.State != schemas.Open:
		s.open(after)
		s.say(place(after.Circuit), s.paint.bad, "OPEN, though every answer was HTTP 200: "+after.Because())
		instead := "have no fallback in these policies, and wait"
		if fallback != "" {
			instead = "now take " + place(fallback)
		}
		s.say("routers", s.paint.bold, fmt.Sprintf("%s; a probe of %s is due in %s",
			instead, place(after.Circuit), tenths(after.RetryAt.Sub(after.ChangedAt))))
	case lease != nil:
		s.probeDue(true) // Some router may have been faster than this one's clock.
		s.grant(lease, fallback)
	case after.State == schemas.Closed && before.State == schemas.HalfOpen:
		s.recovered(after)
	case after.State != before.State:
		s.say(place(after.Circuit), s.paint.warn, happening(before, after)+": "+after.Because())
	}
}

// open notes when the primary opened.
func (s *story) open(state *schemas.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened, s.instead, s.askers = state.ChangedAt, answers{}, nil
}

// grant tells who got the lease, and who did not.
func (s *story) grant(lease *schemas.Lease, fallback string) {
	s.mu.Lock()
	others := slices.DeleteFunc(slices.Clone(s.askers), func(name string) bool { return name == lease.Holder })
	s.askers = nil
	s.mu.Unlock()
	slices.Sort(others)
	text, instead := "holds the one lease and sends one probe", "go by the fallback"
	if fallback == "" {
		instead = "wait"
	}
	if others = slices.Compact(others); len(others) > 0 {
		text += "; " + strings.Join(others, " and ") + " asked too, and must " + instead
	}
	s.say(lease.Holder, s.paint.warn, text)
}

// recovered tells that the primary is closed again.
func (s *story) recovered(state *schemas.State) {
	s.mu.Lock()
	away, instead := state.ChangedAt.Sub(s.opened), s.instead
	s.mu.Unlock()
	text := "CLOSED: the probe's answer was accepted; away for " + tenths(away)
	if instead.all > 0 {
		text += fmt.Sprintf(", while fallbacks gave %s, %d of them accepted",
			count(instead.all, "answer", "answers"), instead.accepted)
	}
	s.say(place(state.Circuit), s.paint.good, text)
	s.say("routers", s.paint.bold, "take "+place(state.Circuit)+" again")
}

// say writes an event, in a colour, broken into as many lines as the terminal needs.
func (s *story) say(where string, paint func(string) string, text string) {
	room := 0
	if width := widthOf(s.out); width > 0 {
		room = max(width-len("15:04:05  ")-placeWidth-2, 20)
	}
	for i, line := range strings.Split(wrap(text, room, ""), "\n") {
		if i == 0 {
			s.write(where, paint(line))
			continue
		}
		fmt.Fprintf(s.out, "%*s%s\n", len("15:04:05  ")+placeWidth+2, "", paint(line))
	}
}

// write writes one line.
func (s *story) write(where, text string) {
	padded := fmt.Sprintf("%-*s", placeWidth, where)
	fmt.Fprintf(s.out, "%s  %s  %s\n", s.paint.faint(time.Now().Format("15:04:05")), s.paint.bold(padded), text)
}

// tenths writes a duration to a tenth of a second.
func tenths(d time.Duration) string { return schemas.Brief(d.Round(100 * time.Millisecond)) }

// place is a circuit's name without its use case.
func place(circuit string) string { return strings.TrimPrefix(circuit, demoUseCase+":") }
