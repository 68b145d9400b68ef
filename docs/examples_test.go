package docs_test

import (
	"strings"
	"testing"
)

// TestExampleSamples wants what routers.md shows of the examples to stand there, line after line.
func TestExampleSamples(t *testing.T) {
	for language, file := range map[string]string{
		"python": "python/router.py", "java": "java/Router.java", "js": "javascript/router.js",
		"bash": "shell/example.sh",
	} {
		source := unindented(read(t, "../examples/"+file))
		for _, b := range blocks(t, "routers.md", language) {
			if !strings.Contains(source, unindented(b.text)) {
				t.Errorf("routers.md: the block in line %d does not stand in examples/%s", b.line, file)
			}
		}
	}
}

// unindented returns a text whose lines have lost the space around them.
func unindented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}
