package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestGoSample wants every line of Go on the page for routers among the examples of the package, which compile.
func TestGoSample(t *testing.T) {
	examples := make(map[string]bool)
	for line := range strings.Lines(read(t, "../client/example_gate_test.go")) {
		examples[strings.TrimSpace(line)] = true
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(read(t, "routers.md"), -1)
	if len(blocks) == 0 {
		t.Fatal("routers.md has no Go code")
	}
	for _, block := range blocks {
		for line := range strings.Lines(block[1]) {
			if !examples[strings.TrimSpace(line)] {
				t.Errorf("routers.md: %q is in no example of package client", strings.TrimSpace(line))
			}
		}
	}
}
