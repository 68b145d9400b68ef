package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestGoSample wants every line of Go with the package client among its examples, which compile.
func TestGoSample(t *testing.T) {
	examples := make(map[string]bool)
	for _, file := range []string{
		"../client/example_gate_test.go", "../client/example_reporter_test.go", "../client/example_production_test.go",
	} {
		for line := range strings.Lines(read(t, file)) {
			examples[strings.TrimSpace(line)] = true
		}
	}
	for _, page := range []string{"routers.md", "producers.md"} {
		blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(read(t, page), -1)
		if len(blocks) == 0 {
			t.Fatalf("%s has no Go code", page)
		}
		for _, block := range blocks {
			if strings.HasPrefix(block[1], "package main") {
				continue // A program without the client.
			}
			for line := range strings.Lines(block[1]) {
				if !examples[strings.TrimSpace(line)] {
					t.Errorf("%s: %q is in no example of package client", page, strings.TrimSpace(line))
				}
			}
		}
	}
}
