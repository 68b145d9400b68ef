package examples_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// patience is how long anything may take that a test waits for.
const patience = 30 * time.Second

// binaries is where programs of this module are built, once each.
var binaries struct {
	dir   string
	mu    sync.Mutex // Guards what follows.
	built map[string]error
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "fusebox-examples-")
	if err != nil {
		panic(err)
	}
	binaries.dir, binaries.built = dir, map[string]error{}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// built returns the path of a program of this module.
func built(t *testing.T, pkg string) string {
	t.Helper()
	path := filepath.Join(binaries.dir, filepath.Base(pkg))
	binaries.mu.Lock()
	defer binaries.mu.Unlock()
	err, known := binaries.built[pkg]
	if !known {
		cmd := exec.Command("go", "build", "-buildvcs=false", "-o", path, pkg)
		if out, failed := cmd.CombinedOutput(); failed != nil {
			err = fmt.Errorf("%v: %w\n%s", cmd, failed, out)
		}
		binaries.built[pkg] = err
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// site is Fusebox on this machine: a broker, and a processor with the policies of the examples.
type site struct {
	broker string
	web    string
}

// newSite starts `fusebox dev`, until the end of the test.
func newSite(t *testing.T) *site {
	t.Helper()
	cmd := exec.Command(built(t, "../cmd/fusebox"), "dev", "--data", t.TempDir(),
		"--broker", "127.0.0.1:0", "--policy", "policies.yaml")
	cmd.Env = append(os.Environ(), "FUSEBOX_HTTP_ADDR=127.0.0.1:0", "FUSEBOX_INSTANCE_ID=examples")
	dev := start(t, cmd)
	s := &site{broker: dev.await(`broker +(\S+)`)[1], web: dev.await(`http +(\S+)`)[1]}
	for begin := time.Now(); s.status("/readyz") != http.StatusOK; time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > patience {
			t.Fatalf("fusebox dev is not ready after %v", patience)
		}
	}
	return s
}

// status returns how the processor answers, 0 where it does not.
func (s *site) status(path string) int {
	answer, err := http.Get(s.web + path)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	return answer.StatusCode
}

// metric returns the sum over the series of a counter that have a label, written name="value".
func (s *site) metric(t *testing.T, name, label string) (sum float64) {
	t.Helper()
	answer, err := http.Get(s.web + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range families[name].GetMetric() {
		for _, pair := range m.GetLabel() {
			if label == fmt.Sprintf("%s=%q", pair.GetName(), pair.GetValue()) {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}
