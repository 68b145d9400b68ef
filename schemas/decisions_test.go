package schemas_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// decision is one vector of testdata/decisions.json: what a router does with a call.
type decision struct {
	Name     string
	State    json.RawMessage // As on the wire; null for a circuit that nobody has heard of.
	Now      time.Time
	Router   string
	Call     uint64
	Decision string
	RetryAt  *time.Time `json:"retry_at"` // Null where it does not refuse, or where nobody can say.
}

// TestDecisions reads the vectors that routers in other languages are tested by.
func TestDecisions(t *testing.T) {
	text, err := os.ReadFile("testdata/decisions.json")
	if err != nil {
		t.Fatal(err)
	}
	var decisions []decision
	if err := json.Unmarshal(text, &decisions); err != nil {
		t.Fatal(err)
	}
	schema, seen := compiled(t, "state"), map[string]int{}
	for _, d := range decisions {
		t.Run(d.Name, func(t *testing.T) {
			state := schemas.State{Enforced: true}
			if string(d.State) != "null" {
				if err := conforms(schema, d.State); err != nil {
					t.Error(err)
				}
				if state, err = schemas.DecodeState(d.State); err != nil {
					t.Fatal(err)
				}
			}
			always := state.AdmitsAlways()
			state = state.At(d.Now)
			got, retry := state.Admission(d.Now, d.Router, d.Call)
			var want time.Time
			if d.RetryAt != nil {
				want = *d.RetryAt
			}
			if got.String() != d.Decision || !retry.Equal(want) {
				t.Errorf("at %v the call %s, until %v; want %s, until %v", d.Now, got, retry, d.Decision, want)
			}
			if always && got != schemas.Admits {
				t.Errorf("AdmitsAlways = true of a record by which the call %s", got)
			}
			seen[d.Decision]++
		})
	}
	if seen["admits"] < 20 || seen["refuses"] < 15 || seen["probes"] < 8 {
		t.Errorf("the vectors decide %v, want 20, 15 and 8 or more", seen)
	}
}
