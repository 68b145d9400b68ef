// Package tidy holds the project's style as tests. A failure names file, line and rule.
//
// Each rule is a function from a source file, or from any text file, to faults; it is tried on samples in testdata
// that break it before it is run on the project. What a rule must not hold for stands in exceptions, with a reason.
package tidy

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// module is the path of the Go module that the rules are about.
const module = "github.com/fusebox-project/fusebox"

// exceptions are the faults that are none. One that fits nothing is a fault itself.
var exceptions = []struct{ path, rule, reason string }{
	{"internal/kafkatest/require.go", "environment", "what a test needs is said by FUSEBOX_TEST_ variables, read here"},
	{"internal/browser/browser.go", "environment", "where pictures go is said by a FUSEBOX_TEST_ variable, read here"},
	{"internal/kafkatest/container.go", "environment", "testcontainers is configured by the environment alone"},
}

// fault is a place that breaks a rule.
type fault struct {
	path string
	line int
	rule string
	what string
}

func (f fault) String() string { return fmt.Sprintf("%s:%d: %s: %s", f.path, f.line, f.rule, f.what) }

// text is a text file of the project; its path is relative to the root, with slashes.
type text struct {
	path string
	body string
}

// source is a text file that is Go, parsed.
type source struct {
	text
	set  *token.FileSet
	file *ast.File
}

// isTest tells whether only go test compiles the file.
func (s *source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// at makes a fault at a place in the source.
func (s *source) at(pos token.Pos, rule, format string, args ...any) fault {
	return fault{s.path, s.set.Position(pos).Line, rule, fmt.Sprintf(format, args...)}
}

var sourceRules = []func(*source) []fault{
	gofmt, lengths, nesting, comments, environment, pure, layers,
}

var textRules = []func(text) []fault{
	unfinished, words,
}

// inspect returns the faults of a tree in the order of path and line.
func inspect(tree fs.FS) ([]fault, error) {
	texts, err := readTexts(tree)
	if err != nil {
		return nil, err
	}
	faults := readme(texts)
	for _, t := range texts {
		for _, rule := range textRules {
			faults = append(faults, rule(t)...)
		}
		if path.Ext(t.path) != ".go" || strings.Contains(t.path, "testdata/") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, t.path, t.body, parser.ParseComments)
		if err != nil {
			faults = append(faults, fault{t.path, 1, "parse", err.Error()})
			continue
		}
		for _, rule := range sourceRules {
			faults = append(faults, rule(&source{t, set, file})...)
		}
	}
	slices.SortStableFunc(faults, func(a, b fault) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.line, b.line))
	})
	return faults, nil
}

// installed are folders that tools of other languages fill.
var installed = []string{"node_modules", "target", "__pycache__", ".venv"}

// readTexts reads every text file of a tree but those of git and those that were built or left there by a run.
func readTexts(tree fs.FS) ([]text, error) {
	var texts []text
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".git" || name == "bin" || name == "data" || slices.Contains(installed, path.Base(name)):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		body, err := fs.ReadFile(tree, name)
		if err == nil && !slices.Contains(body, 0) {
			texts = append(texts, text{name, string(body)})
		}
		return err
	})
	return texts, err
}

// Pitfall 33: the core has no locks.
func TestProject(t *testing.T) {
	faults, err := inspect(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	used := make([]bool, len(exceptions))
	for _, f := range faults {
		excepted := false
		for i, e := range exceptions {
			if e.path == f.path && e.rule == f.rule {
				used[i], excepted = true, true
			}
		}
		if !excepted {
			t.Error(f)
		}
	}
	for i, e := range exceptions {
		if !used[i] {
			t.Errorf("%s: the exception from rule %s is not needed", e.path, e.rule)
		}
		if e.reason == "" {
			t.Errorf("%s: the exception from rule %s has no reason", e.path, e.rule)
		}
	}
}
