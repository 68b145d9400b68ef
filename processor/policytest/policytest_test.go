package policytest_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/processor/policytest"
)

func noFiles(string) ([]byte, error) { return nil, errors.New("there is no such file") }

// TestSharedScenarios runs the scenarios that come with the specification.
func TestSharedScenarios(t *testing.T) {
	files, _ := filepath.Glob(kafkatest.Shared(t, "scenarios", "*.yaml"))
	if len(files) == 0 {
		t.Fatal("there are no scenarios among the shared files")
	}
	runFiles(t, files)
}

// TestRowsOfTheMachine runs the rows of the specification's table that the scenarios leave out, worked out by hand.
func TestRowsOfTheMachine(t *testing.T) {
	runFiles(t, []string{"../../internal/naive/testdata/rows.yaml"})
}

// TestOwnFiles runs the policy tests of this package, a topic a file.
func TestOwnFiles(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.yaml")
	if len(files) == 0 {
		t.Fatal("testdata has no policy tests")
	}
	runFiles(t, files)
}

func runFiles(t *testing.T, files []string) {
	t.Helper()
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := policytest.Read(filepath.Base(path), text, noFiles)
		if err != nil {
			t.Errorf("Read(%s): %v", path, err)
			continue
		}
		for i := range f.Tests {
			test := &f.Tests[i]
			t.Run(f.Name+"/"+test.Name, func(t *testing.T) {
				failures, _ := test.Run(f.Name)
				for _, failure := range failures {
					t.Errorf("%v", failure)
				}
			})
		}
	}
}
