package tidy

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
)

// wanted is the mark on a line of a sample that breaks rules: "want rule" or "want rule, rule" at its end.
var wanted = regexp.MustCompile(`want ([a-z]+(?:, [a-z]+)*)(?: -->)?$`)

// spelling replaces what a sample cannot spell out, as it would break the rule that it is about.
var spelling = strings.NewReplacer(
	"(todo)", "TO"+"DO", "(fixme)", "FIX"+"ME", "(xxx)", "XX"+"X",
	"(work)", "/wor"+"k/", "(farm)", "/far"+"m/", "(library)", ".lib"+"rary", "(session)", "developer sess"+"ion",
)

// TestSamples runs the rules on trees that break them. They must find every marked line and no other.
func TestSamples(t *testing.T) {
	samples, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(samples) == 0 {
		t.Fatalf("testdata holds samples %v, %v, want some", samples, err)
	}
	for _, sample := range samples {
		t.Run(strings.TrimSuffix(filepath.Base(sample), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(sample)
			if err != nil {
				t.Fatal(err)
			}
			tree := make(fstest.MapFS)
			want := make(map[string]bool)
			for _, f := range archive.Files {
				body := spelling.Replace(string(f.Data))
				tree[f.Name] = &fstest.MapFile{Data: []byte(body)}
				addWanted(want, f.Name, body)
			}
			compare(t, tree, want)
		})
	}
}

func addWanted(want map[string]bool, name, body string) {
	for i, line := range strings.Split(body, "\n") {
		found := wanted.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		for rule := range strings.SplitSeq(found[1], ", ") {
			want[fmt.Sprintf("%s:%d: %s", name, i+1, rule)] = true
		}
	}
}

func compare(t *testing.T, tree fstest.MapFS, want map[string]bool) {
	t.Helper()
	faults, err := inspect(tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		place := fmt.Sprintf("%s:%d: %s", f.path, f.line, f.rule)
		if !want[place] {
			t.Errorf("found %v, want no such fault", f)
		}
		want[place] = false
	}
	for place, missing := range want {
		if missing {
			t.Errorf("found nothing at %s, want a fault", place)
		}
	}
}

// TestLimits tries what is just long enough and what is too long.
func TestLimits(t *testing.T) {
	function := func(lines int) string {
		return "func f() {\n" + strings.Repeat("\tf()\n", lines-2) + "}\n"
	}
	line := func(columns int) string {
		return "func f() {\n\tf() // " + strings.Repeat("é", columns-len("    f() // ")) + "\n}\n"
	}
	file := func(lines int) string {
		const head, tail = "\nvar (\n", ")\n"
		return head + strings.Repeat("\t_ = 0\n", lines-4) + tail
	}
	for _, tt := range []struct {
		meaning, body string
		want          string
	}{
		{"longest function", "\n" + function(70), ""},
		{"function too long", "\n" + function(71), "schemas/x.go:3: length: f has 71 lines, at most 70"},
		{"longest line", "\n" + line(120), ""},
		{"line too long", "\n" + line(121), "schemas/x.go:4: length: the line has 121 columns, at most 120"},
		{"longest file", file(400), ""},
		{"file too long", file(401), "schemas/x.go:1: length: the file has 401 lines, at most 400"},
		{"not formatted", "\nvar  x = 0\n", "schemas/x.go:3: gofmt: gofmt writes it otherwise"},
		{"not Go", "\nvar x = = 0\n", "schemas/x.go:1: parse: schemas/x.go:3:9: expected operand, found '='"},
	} {
		t.Run(tt.meaning, func(t *testing.T) {
			tree := fstest.MapFS{"schemas/x.go": {Data: []byte("package schemas\n" + tt.body)}}
			faults, err := inspect(tree)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range faults {
				got = append(got, f.String())
			}
			var want []string
			if tt.want != "" {
				want = []string{tt.want}
			}
			if !slices.Equal(got, want) {
				t.Errorf("inspect finds %q, want %q", got, want)
			}
		})
	}
}
