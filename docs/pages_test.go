package docs_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/fusebox-project/fusebox/schemas"
)

// block is a block of code in a page.
type block struct {
	line int // Where its text begins.
	text string
}

// blocks returns the blocks of code of a language. What a block is indented by is taken away.
func blocks(t *testing.T, page, language string) []block {
	t.Helper()
	var all []block
	var now *block
	indent := ""
	for i, line := range strings.Split(read(t, page), "\n") {
		fence := strings.TrimLeft(line, " ")
		switch {
		case now == nil && fence == "```"+language:
			now, indent = &block{line: i + 2}, line[:len(line)-len(fence)]
		case now != nil && fence == "```":
			all, now = append(all, *now), nil
		case now != nil:
			now.text += strings.TrimPrefix(line, indent) + "\n"
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s has no block of %s", page, language)
	}
	return all
}

// TestOutcomes decodes each JSON example in producers.md.
func TestOutcomes(t *testing.T) {
	for _, b := range blocks(t, "producers.md", "json") {
		var o schemas.Outcome
		if err := schemas.DecodeOutcome(nil, []byte(b.text), &o); err != nil {
			t.Errorf("the block in line %d: %v", b.line, err)
		}
		unknownFields(t, b, "../schemas/outcome.schema.json")
	}
}

// unknownFields reports members of an example that its schema does not name: decoders let them pass.
func unknownFields(t *testing.T, b block, schema string) {
	t.Helper()
	var known struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal([]byte(read(t, schema)), &known); err != nil {
		t.Fatalf("read %s: %v", schema, err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(b.text), &members); err != nil {
		t.Errorf("the block in line %d: %v", b.line, err)
	}
	for name := range members {
		if _, ok := known.Properties[name]; !ok {
			t.Errorf("the block in line %d has %q, which %s does not name", b.line, name, filepath.Base(schema))
		}
	}
}

// TestRouterRecords decodes each JSON example in routers.md as what it is.
func TestRouterRecords(t *testing.T) {
	met := map[string]bool{}
	for _, b := range blocks(t, "routers.md", "json") {
		text := []byte(b.text)
		var err error
		what := "state"
		switch {
		case bytes.Contains(text, []byte(`"type"`)):
			what = "signal"
			_, err = schemas.DecodeSignal(nil, text)
		case bytes.Contains(text, []byte(`"watermark"`)):
			what = "heartbeat"
			_, err = schemas.DecodeHeartbeat(text)
		case bytes.Contains(text, []byte(`"routes"`)):
			what = "policies"
			_, err = schemas.DecodePolicies(text)
		default:
			_, err = schemas.DecodeState(text)
		}
		met[what] = true
		if err != nil {
			t.Errorf("the block in line %d, a %s: %v", b.line, what, err)
		}
		unknownFields(t, b, "../schemas/"+what+".schema.json")
	}
	if len(met) != 4 {
		t.Errorf("routers.md shows %v, want a state, a signal, a heartbeat and policies", met)
	}
}

// pages returns all pages: those below docs, and the README beside it.
func pages(t *testing.T) []string {
	t.Helper()
	all := []string{"../README.md"}
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
)

// anchors returns what a link may name behind the # in a page.
func anchors(text string) []string {
	var all []string
	for _, h := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		all = append(all, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, h[1]))
	}
	return all
}

// TestLinks follows each link that leads to a file of the project, and to a heading in it.
func TestLinks(t *testing.T) {
	for _, page := range pages(t) {
		for _, l := range link.FindAllStringSubmatch(fenced.ReplaceAllString(read(t, page), ""), -1) {
			if strings.Contains(l[1], "://") {
				continue
			}
			name, anchor, _ := strings.Cut(l[1], "#")
			target := page
			if name != "" {
				target = filepath.Join(filepath.Dir(page), name)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: the link %s: %v", page, l[1], err)
				continue
			}
			if anchor != "" && !slices.Contains(anchors(read(t, target)), anchor) {
				t.Errorf("%s: the link %s: there is no such heading", page, l[1])
			}
		}
	}
}
