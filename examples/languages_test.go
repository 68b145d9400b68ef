package examples_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

// language is a router and producer in one language.
type language struct {
	name        string
	needs       string
	command     []string
	partitioner string // Another than that by which Fusebox counts.
}

var languages = []language{
	{"python", "python", []string{"python3", "python/example.py"}, "consistent_random"},
}

// run starts the example on a circuit.
func (l language) run(t *testing.T, s *site, args ...string) *process {
	t.Helper()
	command := append(append(l.command[:len(l.command):len(l.command)], "--brokers", s.broker), args...)
	return start(t, exec.Command(command[0], command[1:]...))
}

// circle follows an example from bad answers to the trip, and through a probe to the recovery.
func circle(p *process, circuit string) {
	p.t.Helper()
	p.await(`^` + circuit + ` accepted`)
	p.await(`^` + circuit + ` missing_evidence`)
	p.await(`^` + circuit + ` refuses: failure-ratio \(.*\d missing_evidence.*\); try again in [01]\.\ds`)
	p.await(`^` + circuit + ` probe \S+, until `)
	p.await(`^` + circuit + ` accepted by the probe`)
	p.await(`^` + circuit + ` accepted`)
	p.end()
}

// TestLanguages runs each example to its end, and once more with a partitioner that puts records elsewhere.
func TestLanguages(t *testing.T) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			kafkatest.Require(t, l.needs)
			s := newSite(t)
			const circuit, other = "submission-extraction:gpt-primary:v4", "submission-extraction:gpt-primary:v5"
			p := l.run(t, s, circuit)
			circle(p, circuit)
			if !strings.Contains(string(p.text), "submission-extraction:gpt-primary:v3 accepted") {
				t.Error("nothing went to the route that by_cause has for missing_evidence")
			}
			if n := s.metric(t, "fusebox_records_total", `result="misrouted"`); n != 0 {
				t.Errorf("%g records were misrouted, want none", n)
			}
			if n := s.metric(t, "fusebox_outcomes_total", `result="while_open"`); n != 0 {
				t.Errorf("%g outcomes came without leave, want none", n)
			}
			circle(l.run(t, s, "--partitioner", l.partitioner, other), other)
			if n := s.metric(t, "fusebox_records_total", `result="misrouted"`); n < 10 {
				t.Errorf("%g records were misrouted, want ten or more: those that opened the circuit", n)
			}
		})
	}
}

// TestProberDies kills a router that holds the lease, in the middle of its probe. Another one probes when it expires.
func TestProberDies(t *testing.T) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			kafkatest.Require(t, l.needs)
			s := newSite(t)
			const circuit = "submission-extraction:gpt-primary:v4"
			first := l.run(t, s, "--name", "router-1", "--hang-from", "11", circuit)
			first.await(`^` + circuit + ` probe `)
			began := time.Now()
			first.kill()
			second := l.run(t, s, "--name", "router-2", circuit)
			second.await(`^` + circuit + ` refuses: it is being tested by router-1; try again in `)
			second.await(`^` + circuit + ` probe `)
			if took := time.Since(began); took < 1500*time.Millisecond || took > 5*time.Second {
				t.Errorf("another router probes %v after the first, want it after the lease time, 2s", took)
			} else {
				t.Logf("another router probes %v after the first; the lease time is 2s", took.Round(time.Millisecond))
			}
			second.await(`^` + circuit + ` accepted by the probe`)
			second.end()
		})
	}
}
