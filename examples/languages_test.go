package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

// language is a router and producer in one language.
type language struct {
	name        string
	needs       []string
	example     func(t *testing.T) []string // The command that runs it.
	decides     func(t *testing.T) []string // The command that tests its table of decisions.
	partitioner string                      // Another than that by which Fusebox counts.
}

var languages = []language{
	{"python", []string{"python"}, fixed("python3", "python/example.py"),
		fixed("python3", "-m", "unittest", "discover", "python"), "consistent_random"},
	{"java", []string{"java"}, java("Example"), java("Decision", "../schemas/testdata/decisions.json"),
		"org.apache.kafka.clients.producer.RoundRobinPartitioner"},
	{"javascript", []string{"javascript"}, fixed("node", "javascript/example.js"),
		fixed("node", "--test", "javascript"), "first"},
	{"shell", []string{"kcat", "jq"}, fixed("shell/example.sh"),
		fixed("jq", "-e", "-L", "shell", shellDecides, "../schemas/testdata/decisions.json"), "consistent_random"},
}

// shellDecides is true of the vectors, those with a ramp left out: who passes it is chance.
const shellDecides = `include "decide"; map(select((.state.ramp // []) == []) | . as $v | .state | decide($v.now; 0) ==
	{decision: $v.decision, retry_at: $v.retry_at}) | length > 30 and all`

func fixed(command ...string) func(*testing.T) []string {
	return func(*testing.T) []string { return command }
}

// compileJava compiles the example, once, and returns the path of its classes and libraries.
var compileJava = sync.OnceValues(func() (string, error) {
	files, err := filepath.Glob("java/*.java")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(binaries.dir, "java")
	out, err := exec.Command("javac", append([]string{"-d", dir}, files...)...).CombinedOutput()
	os.Stderr.Write(out)
	return dir + string(os.PathListSeparator) + os.Getenv("CLASSPATH"), err
})

func java(class string, args ...string) func(*testing.T) []string {
	return func(t *testing.T) []string {
		t.Helper()
		path, err := compileJava()
		if err != nil {
			t.Fatalf("javac: %v", err)
		}
		return append([]string{"java", "-cp", path, class}, args...)
	}
}

// run starts the example, which learns from the environment where the brokers are.
func (l language) run(t *testing.T, s *site, args ...string) *process {
	t.Helper()
	command := l.example(t)
	cmd := exec.Command(command[0], append(slices.Clone(command[1:]), args...)...)
	cmd.Env = append(os.Environ(), "FUSEBOX_BROKERS="+s.broker)
	return start(t, cmd)
}

// circle follows an example from bad answers to the trip, and through a probe to the recovery.
func circle(p *process, circuit string) {
	p.t.Helper()
	p.await(`^` + circuit + ` accepted`)
	p.await(`^` + circuit + ` missing_evidence`)
	p.await(`^` + circuit + ` refuses: failure-ratio \(.*\d missing_evidence.*\); try again (in [0-2]\.\ds|at )`)
	p.await(`^` + circuit + ` probe \S+, until `)
	p.await(`^` + circuit + ` accepted by the probe`)
	p.await(`^` + circuit + ` accepted`)
	p.end()
}

// probersDeath kills a router that holds the lease, in the middle of its probe. Another one probes when it expires.
func (l language) probersDeath(t *testing.T, s *site, circuit string) {
	t.Helper()
	first := l.run(t, s, "--name", "router-1", "--then", "hang", circuit)
	first.await(`^` + circuit + ` probe `)
	began := time.Now()
	first.kill()
	second := l.run(t, s, "--name", "router-2", circuit)
	second.await(`^` + circuit + ` probe `)
	took := time.Since(began)
	second.await(`^` + circuit + ` accepted by the probe`)
	second.end()
	if took < 1500*time.Millisecond {
		t.Errorf("another router probes %v after the first, want it after the lease time, 2s", took)
	}
	why := "and it came too late to be refused"
	if strings.Contains(string(second.text), circuit+" refuses: it is being tested by router-1; try again ") {
		why = "and it was refused until then"
	}
	t.Logf("another router probes %v after the first; the lease time is 2s, %s", took.Round(time.Millisecond), why)
}

// TestLanguages runs each example to its end, kills it in the middle of a probe beside that, and runs it again: on the
// same circuit, and with a partitioner that puts records elsewhere.
func TestLanguages(t *testing.T) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			kafkatest.Require(t, l.needs...)
			s := newSite(t)
			alive := l.run(t, s, "--name", "router-0", "--brokers", s.broker, primary)
			l.probersDeath(t, s, "submission-extraction:gpt-primary:v6")
			circle(alive, primary)
			if !strings.Contains(string(alive.text), older+" accepted") {
				t.Error("nothing went to the route that by_cause has for missing_evidence")
			}
			if n := s.metric(t, "fusebox_records_total", `result="misrouted"`); n != 0 {
				t.Errorf("%g records were misrouted, want none", n)
			}
			if n := s.metric(t, "fusebox_outcomes_total", `result="probe"`); n < 2 {
				t.Errorf("%g outcomes were a probe's, want those of two circuits that recovered", n)
			}
			circle(l.run(t, s), primary)                             // At once after the last one.
			const elsewhere = "submission-extraction:gpt-primary:v5" // In partition 3, or 1 by CRC32.
			circle(l.run(t, s, "--partitioner", l.partitioner, elsewhere), elsewhere)
			if n := s.metric(t, "fusebox_records_total", `result="misrouted"`); n < 5 {
				t.Errorf("%g records were misrouted, want five or more", n)
			}
		})
	}
}

// TestDecisions tests the table of decisions of each example on the vectors for routers in all languages.
func TestDecisions(t *testing.T) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			kafkatest.Require(t, l.needs...)
			command := l.decides(t)
			cmd := exec.Command(command[0], command[1:]...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %v\n%s", cmd, err, out)
			}
		})
	}
}
