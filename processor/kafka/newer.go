package kafka

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fusebox-project/fusebox/processor"
)

// author is what every form of the progress record says of who wrote it.
type author struct {
	Schema int    `json:"schema"`
	By     string `json:"by"`
	Writer string `json:"writer"`
}

// readAuthor reads what it can: a form that is not known may be anything.
func readAuthor(progress []byte) author {
	var a author
	if err := json.Unmarshal(progress, &a); err != nil {
		return author{}
	}
	return a
}

func (a author) String() string {
	if a.By == "" {
		a.By = "an unknown version of Fusebox"
	}
	if a.Writer == "" {
		return a.By
	}
	return fmt.Sprintf("%s as %q", a.By, a.Writer)
}

// tellNewer adds to an error of a form that this version cannot read who wrote it, and what can be done.
func (l *Loop) tellNewer(err error, progress []byte) error {
	if !errors.Is(err, processor.ErrNewerValue) {
		return err
	}
	return fmt.Errorf("%w: it was last written by %s, and this is %s; run that version here too, or, to go back to "+
		"this one, stop all instances, delete %s and the group %s and run `fusebox topics create`: all circuits begin "+
		"anew, from the start of the inputs",
		err, readAuthor(progress), author{By: l.config.Version}, l.config.Topics.Changelog, l.config.Group)
}

// policiesForm is the version of the form in which the changelog keeps policies. Form 1 is their text and nothing else.
// A later one begins with a byte that is its version: no text begins with one of those.
const policiesForm = 1

// lastForm is the last version that a byte can tell: the next one is a tab, with which a text may begin.
const lastForm = 8

// readPolicies returns the text of policies in the changelog.
func readPolicies(value []byte) ([]byte, error) {
	if len(value) > 0 && value[0] > policiesForm && value[0] <= lastForm {
		return nil, fmt.Errorf("policies of version %d, this one reads up to %d: %w",
			value[0], policiesForm, processor.ErrNewerValue)
	}
	return value, nil
}
