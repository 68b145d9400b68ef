package policytest_test

import (
	"flag"
	"testing"

	"github.com/fusebox-project/fusebox/internal/naive"
	"github.com/fusebox-project/fusebox/processor/policytest"
)

var (
	seeds = flag.Uint64("seeds", 1500, "random policy tests to run")
	first = flag.Uint64("first-seed", 1, "the first of them")
)

// TestRandomAgainstAnotherReading runs random policy tests whose expectations come from a second reading of the
// specification, made without a look at this one.
func TestRandomAgainstAnotherReading(t *testing.T) {
	failed := 0
	for seed := *first; seed < *first+*seeds; seed++ {
		text := naive.TestYAML(naive.Scenario(seed))
		f, err := policytest.Read("random.yaml", []byte(text), noFiles)
		if err != nil {
			t.Fatalf("seed %d: Read: %v\n%s", seed, err, text)
		}
		for i := range f.Tests {
			failures, _ := f.Tests[i].Run(f.Name)
			if len(failures) == 0 {
				continue
			}
			t.Errorf("seed %d: %d expectations not met, the first: %+v\n%s", seed, len(failures), failures[0], text)
			if failed++; failed == 5 {
				t.FailNow()
			}
		}
	}
}
