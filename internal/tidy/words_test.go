package tidy

import (
	"path"
	"regexp"
	"strings"
)

// The words stand here in pieces, so that this file has none of them.
var (
	unfinishedWords = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)
	foreignWords    = regexp.MustCompile(`/wor[k]/|/far[m]/|[.]library|developers?.? session`)
	makeCommand     = regexp.MustCompile("(?m:^|[ $>])make ([a-z][a-z-]*)")
	makeTarget      = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
)

// unfinished finds marks of work that was put off.
func unfinished(t text) []fault {
	if path.Base(t.path) == "go.sum" {
		return nil
	}
	return matches(t, "unfinished", unfinishedWords)
}

// words finds words that say where or how the project was written, and nothing about the project.
func words(t text) []fault { return matches(t, "words", foreignWords) }

func matches(t text, rule string, pattern *regexp.Regexp) []fault {
	var faults []fault
	for i, line := range strings.Split(t.body, "\n") {
		if found := pattern.FindString(line); found != "" {
			faults = append(faults, fault{t.path, i + 1, rule, found + " does not belong here"})
		}
	}
	return faults
}

// readme finds make commands in code of README.md that the Makefile does not know.
func readme(texts []text) []fault {
	targets := make(map[string]bool)
	for _, t := range texts {
		if t.path == "Makefile" {
			for _, found := range makeTarget.FindAllStringSubmatch(t.body, -1) {
				targets[found[1]] = true
			}
		}
	}
	var faults []fault
	for _, t := range texts {
		if t.path != "README.md" {
			continue
		}
		fenced := false
		for i, line := range strings.Split(t.body, "\n") {
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
			}
			for _, found := range makeCommand.FindAllStringSubmatch(code(line, fenced), -1) {
				if !targets[found[1]] {
					faults = append(faults, fault{t.path, i + 1, "readme", "the Makefile has no target " + found[1]})
				}
			}
		}
	}
	return faults
}

// code returns what of a line is code: all of it inside a fence, else what stands between backticks.
func code(line string, fenced bool) string {
	if fenced {
		return line
	}
	var spans []string
	for i, part := range strings.Split(line, "`") {
		if i%2 == 1 {
			spans = append(spans, part)
		}
	}
	return strings.Join(spans, "\n")
}
