package main

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/schemas"
)

// act is one way in which the primary route goes bad, while every answer stays HTTP 200.
type act struct {
	says   string // What really happens.
	spoil  func(o *client.Outcome, chance float64, probe bool)
	probes int // How many probes still meet the fault.
}

var acts = []act{
	{
		says: "the search index was rebuilt: answers stay fluent and lose their evidence",
		spoil: func(o *client.Outcome, chance float64, _ bool) {
			if chance < 0.85 {
				o.Kind, o.Stage, o.ReasonCode = client.MissingEvidence, "retrieval", "no_citation"
			}
		},
	},
	{
		says: "the provider changed the model: now and then it invents a policy number",
		spoil: func(o *client.Outcome, chance float64, probe bool) {
			if chance < 0.1 || probe {
				o.Kind, o.Severity = client.ContradictoryEvidence, client.Critical
				o.Stage, o.ReasonCode = "model", "invented_identifier"
			}
		},
		probes: 1,
	},
	{
		says:  "the provider is overloaded: answers are right, and take nine seconds",
		spoil: func(o *client.Outcome, _ float64, _ bool) { o.Latency = 9 * time.Second },
	},
}

const (
	calmFirst = 2 * time.Second // Before the first fault.
	calmLater = 5 * time.Second // Between a recovery and the next fault.
)

// script decides what answers are like. It goes through the acts, again and again; a fault begins by the clock and
// ends by what the circuit does.
type script struct {
	mu     sync.Mutex // Guards what follows.
	act    int
	due    time.Time // When the fault begins; the zero time while it is there or the circuit is not closed.
	faulty bool
	failed int // Probes that met this fault.
	random *rand.Rand
}

func newScript(now time.Time) *script {
	return &script{due: now.Add(calmFirst), random: rand.New(rand.NewPCG(uint64(now.UnixNano()), 1))}
}

// begin starts the fault when it is due and returns what really happens, "" where nothing begins.
func (s *script) begin(now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.due.IsZero() || now.Before(s.due) {
		return ""
	}
	s.due, s.faulty, s.failed = time.Time{}, true, 0
	return acts[s.act].says
}

// heed takes note of a new state of the primary, and tells whether it belongs to the story.
func (s *script) heed(now time.Time, state *schemas.State) bool {
	if state.Circuit != demoPrimary {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if state.State == schemas.Closed && s.due.IsZero() && !s.faulty {
		s.act = (s.act + 1) % len(acts)
		s.due = now.Add(calmLater)
	}
	return true
}

// answer makes up one answer. The fault ends with the last probe that is to meet it.
func (s *script) answer(circuit string, probe bool) client.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := client.Outcome{
		Kind: client.Accepted, Latency: time.Duration(400+s.random.Int64N(900)) * time.Millisecond,
		InputTokens: 3_000 + s.random.Int64N(3_000), OutputTokens: 100 + s.random.Int64N(300),
		CostUSD:   0.009 + 0.009*s.random.Float64(),
		Evaluator: client.Evaluator{Name: "evidence-verifier", Version: "1.4.0"},
	}
	if s.random.Float64() < 0.04 {
		o.Kind, o.Stage, o.ReasonCode = client.InvalidContract, "parse", "missing_field" // As on any day.
	}
	if circuit != demoPrimary || !s.faulty {
		return o
	}
	if probe {
		o.Kind = client.Accepted
		s.faulty = s.failed < acts[s.act].probes
		s.failed++
	}
	if s.faulty {
		acts[s.act].spoil(&o, s.random.Float64(), probe)
	}
	return o
}
