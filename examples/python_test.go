package examples_test

import (
	"os/exec"
	"testing"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

// TestPythonDecides runs the example's own test, on the vectors for routers in all languages.
func TestPythonDecides(t *testing.T) {
	kafkatest.Require(t, "python")
	cmd := exec.Command("python3", "-m", "unittest")
	cmd.Dir = "python"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %v\n%s", cmd, err, out)
	}
}
