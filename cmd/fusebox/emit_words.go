package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fusebox-project/fusebox/schemas"
)

var severityWords = []string{"low", "normal", "high", "critical"}

// noteWords says, once for each word, which kind and which severity of a line Fusebox does not know by itself. The line
// is sent all the same: a policy may declare the kind.
func (e *emitter) noteWords(where string, line []byte, o *schemas.Outcome) {
	if !slices.Contains(schemas.Kinds, o.Kind) {
		e.noteWord(where, "kind", o.Kind, "is none of the nine: neutral, unless the policy declares it", schemas.Kinds)
	}
	if o.Severity != schemas.Normal {
		return
	}
	var written struct {
		Severity string `json:"severity"`
	}
	if err := json.Unmarshal(line, &written); err != nil {
		return // The decoder of outcomes has read the line; what it takes and this one does not is no news.
	}
	if _, ok := schemas.SeverityOf(written.Severity); !ok {
		e.noteWord(where, "severity", written.Severity, "is none of the four: taken for normal", severityWords)
	}
}

func (e *emitter) noteWord(where, member, word, means string, right []string) {
	if e.noted[member+word] || len(e.noted) >= maxFacts {
		return
	}
	if e.noted == nil {
		e.noted = make(map[string]bool)
	}
	e.noted[member+word] = true
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = e.bar.Clear()
	text := fmt.Sprintf("%s: %s %q %s%s", where, member, word, means, didYouMean(word, right))
	fmt.Fprintln(e.out, hang(text, widthOf(e.out)))
}
