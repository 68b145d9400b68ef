//go:build synctests

package kafka

import (
	"testing"

	"github.com/fusebox-project/fusebox/schemas"
)

const (
	countHour = `version: 1
policies: [{name: p, match: ["*"], rules: [{name: r, type: count, threshold: 3, window: 1h}]}]
`
	countTwoHours = `version: 1
policies: [{name: p, match: ["*"], rules: [{name: r, type: count, threshold: 3, window: 2h}]}]
`
)

// TestPoliciesThatCameBack stops the processor between policies: what the second took away does not come back with the
// third, though no record came under the second, and no memory of it is left but the changelog's. Pitfall 35: a rule
// that was gone begins empty, wherever the circuit was meanwhile.
func TestPoliciesThatCameBack(t *testing.T) {
	for name, wiped := range map[string]bool{"store kept": false, "store wiped": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(t *testing.T, w *world) {
				const circuit = "case:route:v1"
				for i, text := range []string{countHour, countTwoHours, countHour} {
					w.policies = policies(t, text)
					if wiped {
						w.dir = t.TempDir()
					}
					r := w.start(nil, nil)
					w.ready(r)
					switch i {
					case 0:
						w.Produce(t, outcome(circuit, schemas.MissingEvidence, "1"),
							outcome(circuit, schemas.MissingEvidence, "2"))
					case 2:
						w.Produce(t, outcome(circuit, schemas.MissingEvidence, "3"))
					}
					w.caughtUp()
					w.end(r)
				}
				for _, record := range w.ReadCommitted(t, topics.State) {
					if string(record.Key) != circuit {
						continue
					}
					if s, err := schemas.DecodeState(record.Value); err != nil || s.State != schemas.Closed {
						t.Errorf("the state is %v, %v after one failure under the third policies, want closed",
							s.State, err)
					}
				}
			})
		})
	}
}
