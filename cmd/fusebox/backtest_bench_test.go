package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// BenchmarkBacktest runs the whole command over JSON lines of about 330 bytes, of 1,000 circuits.
func BenchmarkBacktest(b *testing.B) {
	const outcomes = 200_000
	path := filepath.Join(b.TempDir(), "recorded.jsonl")
	writeRecorded(b, path, outcomes, 1000)
	b.ReportAllocs()
	for b.Loop() {
		root := newRoot()
		root.SetArgs([]string{"backtest", path})
		root.SetOut(io.Discard)
		if err := root.Execute(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(outcomes*float64(b.N)/b.Elapsed().Seconds(), "outcomes/s")
}

// writeRecorded writes a thousand outcomes a second; a tenth of the circuits are bad for a while.
func writeRecorded(tb testing.TB, path string, outcomes, circuits int) {
	tb.Helper()
	file, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	w := bufio.NewWriterSize(file, 1<<20)
	rng := rand.New(rand.NewPCG(1, 1))
	noon := time.Date(2026, 9, 14, 12, 0, 0, 0, time.UTC)
	for i := range outcomes {
		circuit := rng.IntN(circuits)
		bad := 0.1
		if circuit%10 == 0 && i > outcomes/3 {
			bad = 0.7
		}
		kind, code := schemas.Accepted, ""
		if rng.Float64() < bad {
			kind, code = schemas.MissingEvidence, `"reason_code":"no_citation",`
		}
		fmt.Fprintf(w, `{"id":"01J%08d","circuit":"extraction-%d:gpt-primary:v4","kind":%q,%s"time":%q,`+
			`"latency_ms":%d,"input_tokens":4808,"output_tokens":212,"cost_usd":0.0153,"model":"gpt-4o-2024-08-06",`+
			`"evaluator":{"name":"evidence-verifier","version":"1.4.0","type":"code"},"source":"underwriting-7"}`+"\n",
			i, circuit, kind, code, noon.Add(time.Duration(i)*time.Millisecond).Format("2006-01-02T15:04:05.000Z"),
			200+rng.IntN(2000))
	}
	if err := w.Flush(); err != nil {
		tb.Fatal(err)
	}
}
