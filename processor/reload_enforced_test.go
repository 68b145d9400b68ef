package processor_test

import (
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestReloadTellsRouters: while a circuit is open its policy is no longer enforced, and is again. Routers go by what is
// published, so each is published at once; a reload that changes neither is not.
func TestReloadTellsRouters(t *testing.T) {
	read := func(enforce, name string) *breaker.Policies {
		policies, err := breaker.Read("p.yaml", []byte(`
version: 1
policies:
- {name: `+name+`, match: ["*"], enforce: `+enforce+`, rules: [{name: r, type: consecutive, threshold: 2}]}
`))
		if err != nil {
			t.Fatal(err)
		}
		return policies
	}
	p := processor.New(read("true", "p"))
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, circuit := range []string{"open", "open", "closed"} {
		o := schemas.Outcome{Circuit: circuit, Kind: schemas.MissingEvidence, Count: 1}
		p.Step(at, processor.Input{Outcome: &o})
	}
	for i, tt := range []struct {
		enforce, name string
		want          []bool // Enforced of each record.
	}{
		{"false", "p", []bool{false}}, {"false", "q", nil}, {"true", "q", []bool{true}}, {"true", "p", nil},
	} {
		states := p.Reload(read(tt.enforce, tt.name), schemas.Inputs{Outcomes: 3})
		if len(states) != len(tt.want) {
			t.Fatalf("reload %d publishes %v, want %d records", i, states, len(tt.want))
		}
		for j, s := range states {
			if s.Circuit != "open" || s.State != schemas.Open || s.Epoch != 1 || s.Enforced != tt.want[j] {
				t.Errorf("reload %d publishes %s %s at epoch %d, enforced %v; want open, open, 1, %v",
					i, s.Circuit, s.State, s.Epoch, s.Enforced, tt.want[j])
			}
		}
	}
}
