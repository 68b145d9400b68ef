package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fusebox-project/fusebox/processor/policytest"
)

func newPolicyTestCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test FILE...",
		Short: "Run policy tests",
		Long: `Runs files of policy tests: steps on a circuit's clock, and what is expected after each.
An expectation that is not met is printed with its position, what was got and what was wanted. A note, which is no
failure, tells of a state that was met only because no policy matches the circuit; a step that expects why: disabled
says that this is meant.
Exit status 3 if a test fails.`,
		Example: "  fusebox policy test policies_test.yaml\n  fusebox policy test --run 'recover' tests/*.yaml",
		Args:    arguments("FILE..."),

		ValidArgsFunction: completeEndings(policyEndings),
	}
	asJSON := addJSONFlag(cmd)
	pattern := cmd.Flags().String("run", "", "run only the tests whose name this regular expression matches")
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		wanted, err := regexp.Compile(*pattern)
		if err != nil {
			return usageErrorf("--run %q: %w", *pattern, err)
		}
		results, err := runPolicyTests(files, wanted)
		if err != nil {
			return err
		}
		if !*asJSON {
			results.tellNotes(cmd.ErrOrStderr())
		}
		return results.finish(cmd.OutOrStdout(), *asJSON)
	}
	return cmd
}

// testResults is what came of files of policy tests.
type testResults struct {
	Passed int            `json:"passed"`
	Failed int            `json:"failed"`
	Tests  []testedPolicy `json:"tests"`
	Faults []policyFault  `json:"faults"` // Of files that are no policy tests.
	Notes  []policyFault  `json:"notes"`  // Of expectations that were met, though perhaps not as they were meant.
}

type testedPolicy struct {
	File     string        `json:"file"`
	Line     int           `json:"line"`
	Test     string        `json:"test"`
	Passed   bool          `json:"passed"`
	Failures []testFailure `json:"failures"`
}

type testFailure struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Step   int    `json:"step"` // From 1.
	Field  string `json:"field"`
	Got    string `json:"got"`
	Want   string `json:"want"`
}

// runPolicyTests runs the tests of a name that is wanted. That there are none is an error: a check that checks nothing
// must not pass.
func runPolicyTests(files []string, wanted *regexp.Regexp) (testResults, error) {
	results := testResults{Tests: []testedPolicy{}, Faults: []policyFault{}, Notes: []policyFault{}}
	for _, name := range files {
		file, err := readPolicyTests(name)
		if faults, wrong := asFaults(err); wrong {
			results.Faults = append(results.Faults, faultsOf(faults)...)
			continue
		}
		if err != nil {
			return testResults{}, usageErrorf("%w", err)
		}
		for i := range file.Tests {
			if test := &file.Tests[i]; wanted.MatchString(test.Name) {
				failures, notes := test.Run(name)
				results.add(name, test, failures)
				results.note(notes)
			}
		}
	}
	if len(results.Tests) == 0 && len(results.Faults) == 0 {
		return testResults{}, usageErrorf("--run %q matches no test", wanted)
	}
	return results, nil
}

// readPolicyTests reads a file of tests, and the policy files that it names, whose paths are relative to it.
func readPolicyTests(name string) (*policytest.File, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, unreadable("file of policy tests", name, err)
	}
	return policytest.Read(name, text, func(path string) ([]byte, error) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(name), path)
		}
		return os.ReadFile(path)
	})
}

func (r *testResults) add(file string, test *policytest.Test, failures []policytest.Failure) {
	tested := testedPolicy{
		File: file, Line: test.Line, Test: test.Name, Passed: len(failures) == 0, Failures: []testFailure{},
	}
	for _, f := range failures {
		tested.Failures = append(tested.Failures, testFailure{f.Line, f.Column, f.Step, f.Field, f.Got, f.Want})
	}
	if tested.Passed {
		r.Passed++
	} else {
		r.Failed++
	}
	r.Tests = append(r.Tests, tested)
}

// note adds what is to be said of expectations that were met.
func (r *testResults) note(notes []policytest.Note) {
	for _, n := range notes {
		said := fmt.Sprintf("%s, step %d: %s is closed only because no policy matches it: its outcomes are not counted",
			n.Test, n.Step, n.Circuit)
		if near := nearestPattern(n.Circuit, n.Policies); near != nil {
			said += fmt.Sprintf("; the pattern %s of policy %s nearly does", near.Pattern, near.Policy)
		}
		r.Notes = append(r.Notes, policyFault{n.File, n.Line, n.Column, said})
	}
}

func (r *testResults) tellNotes(w io.Writer) {
	p := paletteFor(w)
	for _, n := range r.Notes {
		fmt.Fprintf(w, "%s %s %s\n", p.place(n.File, n.Line, n.Column), p.warn("note:"), n.Message)
	}
}

// finish prints the results and returns what the command ends with.
func (r *testResults) finish(w io.Writer, asJSON bool) error {
	var err error
	if asJSON {
		err = writeJSON(w, r)
	} else {
		_, err = io.WriteString(w, r.text(paletteFor(w)))
	}
	if err == nil && (r.Failed > 0 || len(r.Faults) > 0) {
		return foundProblems()
	}
	return err
}

func (r *testResults) text(p palette) string {
	var text strings.Builder
	for _, f := range r.Faults {
		fmt.Fprintf(&text, "%s %s\n", p.place(f.File, f.Line, f.Column), f.Message)
	}
	for _, t := range r.Tests {
		for _, f := range t.Failures {
			fmt.Fprintf(&text, "%s %s, step %d: %s is %s, want %s\n",
				p.place(t.File, f.Line, f.Column), t.Test, f.Step, f.Field,
				p.bad(f.Got), p.good(f.Want))
		}
	}
	fmt.Fprintf(&text, "%d passed, %d failed", r.Passed, r.Failed)
	if n := len(r.Faults); n > 0 {
		fmt.Fprintf(&text, ", %s in files that were not run", count(n, "fault", "faults"))
	}
	return text.String() + "\n"
}
