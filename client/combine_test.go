//go:build synctests

package client

import (
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/schemas"
)

const few = `version: 1
defaults: {window: 1m, minimum_throughput: 3}
policies:
- name: p
  match: ["*"]
  rules:
  - {name: r, type: ratio, threshold: 0.5}
  - {name: slow, type: slow_ratio, over: 2s, threshold: 0.9}
`

// rig is a gate's reporter in virtual time, without the gate.
type rig struct {
	*Reporter
	t       *testing.T
	cluster *kafkatest.Cluster
	client  *kgo.Client
}

func inRig(t *testing.T, c Config, test func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cluster := kafkatest.New(t)
		c = c.withDefaults()
		cluster.Create(t, 3, nil, c.Topics.Outcomes)
		c.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
		r := &rig{t: t, cluster: cluster, client: cluster.Client(t, producing()...)}
		r.Reporter = newReporter(r.client, c)
		t.Cleanup(func() { r.Close() })
		policies, err := breaker.Read("few.yaml", []byte(few))
		if err != nil {
			t.Fatalf("breaker.Read: %v", err)
		}
		r.learn(policies)
		test(r)
	})
}

func plain(circuit string, epoch int64) Lease {
	return Lease{circuit: circuit, epoch: epoch, plain: true, sink: nobody{}}
}

// report reports n times.
func (r *rig) report(l Lease, n int, o Outcome) {
	r.t.Helper()
	for range n {
		if err := r.send(&l, &o); err != nil {
			r.t.Fatalf("send(%+v): %v", o, err)
		}
	}
}

// arrived returns what the topic holds of a circuit, as kind*count.
func (r *rig) arrived(circuit string) (all []string, outcomes []schemas.Outcome) {
	r.t.Helper()
	for _, record := range r.cluster.ReadCommitted(r.t, r.config.Topics.Outcomes) {
		var o schemas.Outcome
		if err := schemas.DecodeOutcome(record.Key, record.Value, &o); err != nil {
			r.t.Fatalf("sent %s: %v", record.Value, err)
		}
		if o.Circuit == circuit {
			all, outcomes = append(all, fmt.Sprintf("%s*%d", o.Kind, o.Count)), append(outcomes, o)
		}
	}
	return all, outcomes
}

func (r *rig) wants(circuit string, want ...string) []schemas.Outcome {
	r.t.Helper()
	synctest.Wait()
	got, outcomes := r.arrived(circuit)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		r.t.Fatalf("%s arrived, want %s", got, want)
	}
	return outcomes
}

func TestAddedUpFor100ms(t *testing.T) {
	inRig(t, Config{}, func(r *rig) {
		l := plain("a", 4)
		r.report(l, 3, Outcome{Kind: Accepted}) // The minimum.
		time.Sleep(time.Second)
		begin := time.Now()
		for i := range 50 {
			r.report(l, 1, Outcome{
				Kind: Accepted, CostUSD: 0.25, InputTokens: 10, OutputTokens: 1, Model: "m", TraceID: fmt.Sprint(i),
				Latency: time.Duration(i) * time.Millisecond,
			})
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Until(begin.Add(99 * time.Millisecond)))
		r.wants("a", "accepted*1", "accepted*1", "accepted*1")
		time.Sleep(time.Millisecond)
		sum := r.wants("a", "accepted*1", "accepted*1", "accepted*1", "accepted*50")[3]
		if sum.CostMicros != 12_500_000 || sum.InputTokens != 500 || sum.OutputTokens != 50 || sum.LatencyMS != 49 ||
			sum.Epoch != 4 || sum.Model != "m" || sum.TraceID != "" || len(sum.ID) != 26 || sum.Source == "" ||
			!sum.Time.Equal(begin.Add(100*time.Millisecond)) {
			t.Errorf("the sum is %+v", sum)
		}
		if s := r.Stats(); s.Outcomes != 53 || s.Records != 4 || s.Waiting != 0 {
			t.Errorf("Stats() = %+v, want 53 outcomes in 4 records", s)
		}
		r.report(l, 1, Outcome{Kind: Accepted, TraceID: "t"})
		time.Sleep(sumFor)
		synctest.Wait() // The sum goes at this very time.
		if _, all := r.arrived("a"); len(all) != 5 || all[4].TraceID != "t" {
			t.Errorf("a sum of one is %+v, want it as it was reported", all[4])
		}
	})
}

// TestUnlikeSendsTheSum reports what cannot be added up, one after the other: each sends the sum before it, at once.
func TestUnlikeSendsTheSum(t *testing.T) {
	probing, forced := plain("a", 0), plain("a", 0)
	probing.plain, probing.probe = false, &probe{id: "L1"}
	forced.plain = false
	for name, unlike := range map[string]struct {
		lease   Lease
		outcome Outcome
		sent    string // At once, behind the sum.
	}{
		"a failure":             {plain("a", 0), Outcome{Kind: MissingEvidence}, "missing_evidence*1"},
		"a neutral one":         {plain("a", 0), Outcome{Kind: Cancelled}, "cancelled*1"},
		"a probe":               {probing, Outcome{Kind: Accepted}, "accepted*1"},
		"under an operator":     {forced, Outcome{Kind: Accepted}, "accepted*1"},
		"an id":                 {plain("a", 0), Outcome{Kind: Accepted, ID: "x"}, "accepted*1"},
		"a time":                {plain("a", 0), Outcome{Kind: Accepted, Time: time.Unix(1, 0)}, "accepted*1"},
		"a reference":           {plain("a", 0), Outcome{Kind: Accepted, EvidenceRef: "s3://x"}, "accepted*1"},
		"a wish to be left":     {plain("a", 0), Outcome{Kind: Accepted, RetryAfter: 1e9}, "accepted*1"},
		"another epoch":         {plain("a", 1), Outcome{Kind: Accepted}, "accepted*1"}, // Its minimum begins anew.
		"another model":         {plain("a", 0), Outcome{Kind: Accepted, Model: "m"}, ""},
		"another severity":      {plain("a", 0), Outcome{Kind: Accepted, Severity: High}, ""},
		"another judge":         {plain("a", 0), Outcome{Kind: Accepted, Evaluator: Evaluator{Type: LLM}}, ""},
		"another stage":         {plain("a", 0), Outcome{Kind: Accepted, Stage: "parse"}, ""},
		"another tenant":        {plain("a", 0), Outcome{Kind: Accepted, Tenant: "t"}, ""},
		"another provider":      {plain("a", 0), Outcome{Kind: Accepted, Provider: "p"}, ""},
		"another reason":        {plain("a", 0), Outcome{Kind: Accepted, Reason: "r"}, ""},
		"another reason code":   {plain("a", 0), Outcome{Kind: Accepted, ReasonCode: "r"}, ""},
		"a fallback":            {plain("a", 0), Outcome{Kind: Accepted, FallbackFrom: "b"}, ""},
		"on the slower side":    {plain("a", 0), Outcome{Kind: Accepted, Latency: 2001 * time.Millisecond}, ""},
		"more than can be said": {plain("a", 0), Outcome{Kind: Accepted, InputTokens: schemas.MaxWhole}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, Config{}, func(r *rig) {
				r.report(plain("a", 0), 3, Outcome{Kind: Accepted})
				r.report(plain("a", 0), 5, Outcome{Kind: Accepted, InputTokens: 1, Latency: 2 * time.Second})
				r.report(unlike.lease, 1, unlike.outcome)
				sent := []string{"accepted*1", "accepted*1", "accepted*1", "accepted*5"}
				if unlike.sent != "" {
					sent = append(sent, unlike.sent)
				}
				r.wants("a", sent...)
				if unlike.sent == "" {
					time.Sleep(sumFor)
					r.wants("a", append(sent, "accepted*1")...)
				}
			})
		})
	}
}

// TestNothingIsAddedUp where nobody knows the policies, where it is switched off, and before the minimum is there.
func TestNothingIsAddedUp(t *testing.T) {
	ten := []string{}
	for range 10 {
		ten = append(ten, "accepted*1")
	}
	t.Run("switched off", func(t *testing.T) {
		inRig(t, Config{Combine: CombineNever}, func(r *rig) {
			r.report(plain("a", 0), 10, Outcome{Kind: Accepted})
			r.wants("a", ten...)
		})
	})
	t.Run("no policies", func(t *testing.T) {
		inRig(t, Config{}, func(r *rig) {
			r.learn(nil)
			r.report(plain("a", 0), 10, Outcome{Kind: Accepted})
			r.wants("a", ten...)
		})
	})
	t.Run("no gate", func(t *testing.T) {
		inRig(t, Config{Combine: CombineAlways}, func(r *rig) {
			for range 10 {
				r.Report("a", Outcome{Kind: Accepted})
			}
			r.wants("a", ten...)
		})
	})
	t.Run("too few in the window", func(t *testing.T) {
		inRig(t, Config{}, func(r *rig) {
			for range 10 {
				r.report(plain("a", 0), 1, Outcome{Kind: Accepted})
				time.Sleep(21 * time.Second)
			}
			r.wants("a", ten...)
		})
	})
	t.Run("and always where that is wanted", func(t *testing.T) {
		inRig(t, Config{Combine: CombineAlways}, func(r *rig) {
			r.report(plain("a", 0), 10, Outcome{Kind: Accepted})
			r.Close()
			r.wants("a", "accepted*10")
		})
	})
}

func TestCloseSendsTheSum(t *testing.T) {
	inRig(t, Config{}, func(r *rig) {
		r.report(plain("a", 0), 10, Outcome{Kind: Accepted})
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		r.wants("a", "accepted*1", "accepted*1", "accepted*1", "accepted*7")
		l := plain("a", 0)
		if err := r.send(&l, &Outcome{Kind: Accepted}); err != ErrClosed {
			t.Errorf("send after Close = %v, want ErrClosed", err)
		}
	})
}

// TestForgetsCircuits keeps the memory of a reporter to the circuits in use.
func TestForgetsCircuits(t *testing.T) {
	inRig(t, Config{}, func(r *rig) {
		for i := range 1000 {
			r.report(plain(fmt.Sprint("c", i), 0), 5, Outcome{Kind: Accepted})
		}
		time.Sleep(10 * time.Second)
		if n := r.combiner.circuits.Size(); n != 1000 {
			t.Errorf("%d circuits, want 1,000", n)
		}
		time.Sleep(3 * time.Minute)
		if n := r.combiner.circuits.Size(); n != 0 {
			t.Errorf("%d circuits are remembered that nothing was reported of for 3 minutes", n)
		}
	})
}

// TestManyReporters reports from many goroutines while it closes: whatever was taken arrives.
func TestManyReporters(t *testing.T) {
	inRig(t, Config{}, func(r *rig) {
		var work sync.WaitGroup
		var mu sync.Mutex
		taken := int64(0)
		for i := range 16 {
			work.Go(func() {
				own := int64(0)
				for j := range 2000 {
					o := Outcome{Kind: Accepted}
					if j%97 == i {
						o.Kind = MissingEvidence
					}
					l := plain(fmt.Sprint("c", j%5), 0)
					if r.send(&l, &o) == nil {
						own++
					}
					if j%50 == 0 {
						time.Sleep(7 * time.Millisecond)
					}
				}
				mu.Lock()
				defer mu.Unlock()
				taken += own
			})
		}
		time.Sleep(200 * time.Millisecond)
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		work.Wait()
		arrived := int64(0)
		for i := range 5 {
			_, all := r.arrived(fmt.Sprint("c", i))
			for _, o := range all {
				arrived += o.Count
			}
		}
		if arrived != taken || taken < 1000 || taken > 31_000 {
			t.Errorf("%d of 32,000 outcomes were taken, and %d arrived", taken, arrived)
		}
	})
}

// TestDoubt reports what was admitted while an operator kept the circuit closed. Whether that still holds, and so
// whether it stays counted, the reporter cannot know.
func TestDoubt(t *testing.T) {
	inRig(t, Config{}, func(r *rig) {
		forced := plain("a", 2)
		forced.plain = false
		r.report(forced, 1, Outcome{Kind: Accepted})
		r.report(plain("a", 2), 5, Outcome{Kind: Accepted})
		r.wants("a", "accepted*1", "accepted*1", "accepted*1", "accepted*1", "accepted*1", "accepted*1")
		time.Sleep(65 * time.Second)
		r.report(plain("a", 2), 3, Outcome{Kind: Accepted})
		r.report(plain("a", 2), 9, Outcome{Kind: Accepted})
		r.Close()
		if all, _ := r.arrived("a"); len(all) != 10 || all[9] != "accepted*9" {
			t.Errorf("%s arrived, want a sum at the end", all)
		}
	})
}
