package policytest_test

import (
	"testing"

	"github.com/fusebox-project/fusebox/internal/naive"
	"github.com/fusebox-project/fusebox/processor/policytest"
	"pgregory.net/rapid"
)

// TestRapidAgainstAnotherReading draws seeds of random policy tests, and on a failure looks for the smallest: the one
// that it prints goes to -first-seed. Each run draws others.
func TestRapidAgainstAnotherReading(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		text := naive.TestYAML(naive.Scenario(seed))
		f, err := policytest.Read("random.yaml", []byte(text), noFiles)
		if err != nil {
			t.Fatalf("seed %d: Read: %v\n%s", seed, err, text)
		}
		for i := range f.Tests {
			if failures, _ := f.Tests[i].Run(f.Name); len(failures) > 0 {
				t.Fatalf("seed %d: %d expectations not met, the first: %+v\n%s", seed, len(failures), failures[0], text)
			}
		}
	})
}
