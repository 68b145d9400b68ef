package schemas_test

import (
	"fmt"

	"github.com/fusebox-project/fusebox/schemas"
)

func ExampleDecodeOutcome() {
	var o schemas.Outcome
	key := []byte("submission-extraction:gpt-primary:v4")
	if err := schemas.DecodeOutcome(key, []byte(`{"kind":"MissingEvidence","cost_usd":1.53e-2}`), &o); err != nil {
		fmt.Println(err)
	}
	fmt.Println(o.Circuit, o.Kind, o.CostMicros, o.Count)
	err := schemas.DecodeOutcome(key, []byte(`{"kind":"accepted","latency_ms":"abc"}`), &o)
	fmt.Println(err)
	// Output:
	// submission-extraction:gpt-primary:v4 missing_evidence 15300 1
	// outcome: latency_ms: is a string of 3 bytes, must be a number of milliseconds
}

func ExampleAppendSignal() {
	text := schemas.AppendSignal(nil, &schemas.Signal{
		Type: schemas.Claim, Circuit: "c", Holder: "router-7", Lease: "L1", Epoch: 41, HasEpoch: true,
	})
	fmt.Println(string(text))
	// Output: {"type":"claim","circuit":"c","holder":"router-7","lease":"L1","epoch":41}
}
