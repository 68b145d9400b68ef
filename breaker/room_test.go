package breaker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestRoom counts outcomes of one time and asks for the room of one more that is accepted, takes 1 s and costs 1 USD.
func TestRoom(t *testing.T) {
	all, no := breaker.AllRoom, breaker.Room{}
	limited := func(limit func(*breaker.Room)) breaker.Room {
		r := all
		limit(&r)
		return r
	}
	for name, tt := range map[string]struct {
		rules    string
		accepted int64
		failed   int64
		after    time.Duration // From then on until the room is wanted.
		want     breaker.Room
	}{
		"fewer than the minimum": {"{type: ratio, threshold: 0.5, minimum_throughput: 10}", 9, 0, 0, no},
		"the minimum":            {"{type: ratio, threshold: 0.5, minimum_throughput: 10}", 10, 0, 0, all},
		"it leaves before": {
			"{type: ratio, threshold: 0.5, minimum_throughput: 10}", 10, 0, 61 * time.Second, no},
		"it is there to the end":  {"{type: ratio, threshold: 0.5, minimum_throughput: 10}", 10, 0, time.Minute, all},
		"one more keeps it below": {"{type: ratio, threshold: 0.5, minimum_throughput: 3}", 3, 3, 0, all},
		"one more does not":       {"{type: ratio, threshold: 0.5, minimum_throughput: 3}", 3, 4, 0, no},
		"the last 10":             {"{type: ratio, threshold: 0.5, last: 10}", 20, 0, 0, no},
		"a ratio of successes": {
			"{type: ratio, threshold: 0.9, kinds: [accepted], minimum_throughput: 3}", 3, 6, 0, no},
		"a count":              {"{type: count, threshold: 4}", 0, 3, 0, all},
		"a count of successes": {"{type: count, threshold: 40, kinds: [accepted]}", 0, 3, 0, no},
		"a row":                {"{type: consecutive, threshold: 4}", 0, 3, 0, all},
		"a row of successes":   {"{type: consecutive, threshold: 4, kinds: [accepted]}", 0, 3, 0, no},
		"one at once":          {"{type: immediate, kinds: [contradictory_evidence]}", 0, 0, 0, all},
		"fast ones": {
			"{type: slow_ratio, threshold: 0.5, over: 1s, minimum_throughput: 3}", 3, 0, 0, all},
		"fast ones, too few": {
			"{type: slow_ratio, threshold: 0.5, over: 1s, minimum_throughput: 5}", 3, 0, 0, no},
		"slow ones, until half are": { // 3 of 3 were slow of 10 in all.
			"{type: slow_ratio, threshold: 0.5, over: 999ms, kinds: [accepted], minimum_throughput: 3}", 3, 7, 0,
			limited(func(r *breaker.Room) { r.Outcomes = 3 })},
		"slow ones, up to all": {
			"{type: slow_ratio, threshold: 1, over: 999ms, kinds: [accepted], minimum_throughput: 3}", 3, 1, 0, all},
		"money": {"{type: sum, of: cost_usd, threshold: 10}", 3, 1, 0,
			limited(func(r *breaker.Room) { r.CostMicros = 5_999_999 })},
		"money of what failed": {"{type: sum, of: cost_usd, threshold: 10, only: rejected}", 3, 1, 0, all},
		"tokens": {"{type: sum, of: tokens, threshold: 100}", 3, 1, 0,
			limited(func(r *breaker.Room) { r.Tokens = 55 })},
		"two rules": {
			"{type: sum, of: input_tokens, threshold: 100}, {name: s, type: sum, of: output_tokens, threshold: 100}",
			3, 1, 0, limited(func(r *breaker.Room) { r.InputTokens, r.OutputTokens = 59, 95 })},
	} {
		t.Run(name, func(t *testing.T) {
			policies, err := breaker.Read("room.yaml", []byte("version: 1\npolicies: [{name: p, match: ['*'], rules: ["+
				strings.Replace(tt.rules, "{", "{name: r, ", 1)+"]}]\n"))
			if err != nil {
				t.Fatalf("Read: %v", err)
			}
			p := policies.For("c")
			counts, at := breaker.NewCounts(p), time.UnixMilli(1_000_000)
			for kind, n := range map[string]int64{schemas.Accepted: tt.accepted, schemas.MissingEvidence: tt.failed} {
				number, _ := policies.Kind(kind)
				for range n {
					p.Add(&counts, at, at, call(kind), number, 0)
				}
			}
			accepted, _ := policies.Kind(schemas.Accepted)
			if got := p.Room(&counts, at.Add(tt.after), call(schemas.Accepted), accepted); got != tt.want {
				t.Errorf("Room = %+v, want %+v", got, tt.want)
			}
		})
	}
}

func call(kind string) *schemas.Outcome {
	return &schemas.Outcome{
		Circuit: "c", Kind: kind, Count: 1, LatencyMS: 1000, CostMicros: 1_000_000, InputTokens: 10, OutputTokens: 1,
	}
}

// TestNoRoomBesideAShadow and without judgement there is all room.
func TestNoRoomBesideAShadow(t *testing.T) {
	text := `version: 1
policies:
- {name: p, match: ["c"], rules: [{name: r, type: consecutive, threshold: 3}]}
- {name: s, shadows: p, rules: [{name: r, type: consecutive, threshold: 2}]}
- {name: off, match: ["off"], enabled: false, rules: [{name: r, type: ratio, threshold: 0.5, last: 5}]}
`
	policies, err := breaker.Read("room.yaml", []byte(text))
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	accepted, _ := policies.Kind(schemas.Accepted)
	for circuit, want := range map[string]breaker.Room{"c": {}, "off": breaker.AllRoom, "nobody's": breaker.AllRoom} {
		p := policies.For(circuit)
		counts := breaker.NewCounts(p)
		if got := p.Room(&counts, time.UnixMilli(0), call(schemas.Accepted), accepted); got != want {
			t.Errorf("Room of %s = %+v, want %+v", circuit, got, want)
		}
	}
}
