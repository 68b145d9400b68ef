package client_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/schemas"
)

// judged is a policy with a rule that every outcome is judged by.
const judged = `version: 1
policies: [{name: p, match: ["*"], rules: [{name: failure-ratio, type: ratio, threshold: 0.5}]}]
`

// publish writes the policies in force to a state topic.
func publish(tb testing.TB, e kafkatest.Endpoint, topic, text string) {
	tb.Helper()
	p := schemas.PoliciesInForce{Version: "c9a3e728e1c8da7e", Text: text, Instance: "a", Since: time.Now()}
	value := schemas.AppendPolicies(nil, &p)
	e.Produce(tb, &kgo.Record{Topic: topic, Key: []byte("\x00policies"), Value: value})
}

// ordinary is an accepted outcome as a router reports it.
var ordinary = client.Outcome{
	Kind: client.Accepted, Latency: 1834 * time.Millisecond, InputTokens: 4808, OutputTokens: 212, CostUSD: 0.0153,
	Provider: "azure.ai.openai", Model: "gpt-4o-2024-08-06",
}

// BenchmarkEnterReport is a call through a closed circuit, of one and of 1,000, with the combiner on.
func BenchmarkEnterReport(b *testing.B) {
	g := filled(b, 1000)
	names := make([]string, 1000)
	for i := range names {
		names[i] = circuitName(i)
	}
	call := func(b *testing.B, circuit string) {
		lease, err := g.Enter(b.Context(), circuit)
		if err != nil {
			b.Fatal(err)
		}
		if err := lease.Report(ordinary); err != nil {
			b.Fatal(err)
		}
	}
	for _, circuits := range []int{1, 1000} {
		for range 30 { // The minimum of the rule, before which nothing is added up.
			for _, name := range names[:circuits] {
				call(b, name)
			}
			for g.Stats().Reports.Waiting > 1000 {
				time.Sleep(time.Millisecond)
			}
		}
		b.Run(fmt.Sprint(circuits), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				call(b, names[i%circuits])
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
		b.Run(fmt.Sprint(circuits, "/parallel"), func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for i := rand.IntN(circuits); pb.Next(); i++ {
					call(b, names[i%circuits])
				}
			})
		})
	}
}
