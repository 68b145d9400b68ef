package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// benchReport is what a bench found. Times are milliseconds.
type benchReport struct {
	Circuits    int         `json:"circuits"`
	Partitions  int32       `json:"partitions"`
	Replication int         `json:"replication"`
	Workers     int         `json:"workers"`
	Throughput  *throughput `json:"throughput,omitempty"`
	Trips       *trips      `json:"trips,omitempty"`
}

// throughput is how fast outcomes were handled that were there already.
type throughput struct {
	Outcomes   int     `json:"outcomes"`
	Seconds    float64 `json:"seconds"` // From the start of the processor to the last commit.
	Whole      speed   `json:"whole_run"`
	SecondHalf speed   `json:"second_half"`
	PeakMiB    float64 `json:"peak_mib"` // Of this process, while it handled them.
}

type speed struct {
	PerSecond float64 `json:"outcomes_per_second"`
	CPUMicros float64 `json:"cpu_us_per_outcome"` // Of this process.
}

// trips is how long trips took.
type trips struct {
	Trips    int     `json:"trips"`
	Rate     float64 `json:"outcomes_per_second"`
	FromSend spread  `json:"from_send"`
	FromAck  spread  `json:"from_ack"`
	Brokers  brokers `json:"brokers"`
}

// brokers is what of a trip was spent waiting for brokers: the round trips that have to follow each other until the
// transaction is committed. The fetches on both sides wait for records, not for brokers, and are left out.
type brokers struct {
	Outcome spread  `json:"produce_outcome"`
	Records spread  `json:"produce_records"` // Of the processor: state, transition, changelog.
	Offsets spread  `json:"commit_offsets"`  // Beside the records, so the slower of the two counts.
	End     spread  `json:"end_transaction"`
	P50     float64 `json:"p50_sum"`
	Share   float64 `json:"share_of_p50"` // That sum against the p50 of a trip from its send.
}

// spread is how values are spread.
type spread struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// spreadOf returns the spread of durations, in milliseconds.
func spreadOf(all []time.Duration) spread {
	if len(all) == 0 {
		return spread{}
	}
	slices.Sort(all)
	at := func(q float64) float64 {
		i := int(math.Ceil(q*float64(len(all)))) - 1
		return float64(all[max(i, 0)].Microseconds()) / 1000
	}
	return spread{at(0.5), at(0.99), at(1)}
}

// report adds up what the ledger holds.
func (l *tripLedger) report(rate float64, load *benchLoad, waits *brokerWaits) *trips {
	l.mu.Lock()
	defer l.mu.Unlock()
	var fromSend, fromAck []time.Duration
	for _, t := range l.trips {
		fromSend, fromAck = append(fromSend, t.seen.Sub(t.sent)), append(fromAck, t.seen.Sub(t.acked))
	}
	b := brokers{
		Outcome: spreadOf(load.waits.of(kmsg.Produce)), Records: spreadOf(waits.of(kmsg.Produce)),
		Offsets: spreadOf(waits.of(kmsg.TxnOffsetCommit)), End: spreadOf(waits.of(kmsg.EndTxn)),
	}
	r := &trips{Trips: len(l.trips), Rate: rate, FromSend: spreadOf(fromSend), FromAck: spreadOf(fromAck)}
	b.P50 = b.Outcome.P50 + max(b.Records.P50, b.Offsets.P50) + b.End.P50
	if r.FromSend.P50 > 0 {
		b.Share = b.P50 / r.FromSend.P50
	}
	r.Brokers = b
	return r
}

// text is the report for people.
func (r *benchReport) text() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s, %s of %s, %s\n", count(r.Circuits, "circuit", "circuits"),
		count(int(r.Partitions), "partition", "partitions"), count(r.Replication, "replica", "replicas"),
		count(r.Workers, "worker", "workers"))
	if t := r.Throughput; t != nil {
		fmt.Fprintf(&text, "\nthroughput, %s    outcomes/s   CPU µs an outcome\n",
			count(t.Outcomes, "outcome", "outcomes"))
		row := func(what string, s speed) {
			fmt.Fprintf(&text, "  %-30s %10.0f   %17.1f\n", what, s.PerSecond, s.CPUMicros)
		}
		row(fmt.Sprintf("whole run, %.2f s", t.Seconds), t.Whole)
		row("second half", t.SecondHalf)
		fmt.Fprintf(&text, "  peak memory %.0f MiB\n", t.PeakMiB)
	}
	if t := r.Trips; t != nil {
		fmt.Fprintf(&text, "\n%-32s %8s %8s %8s\n", fmt.Sprintf("%s at %.0f outcomes/s, ms",
			count(t.Trips, "trip", "trips"), t.Rate), "p50", "p99", "max")
		row := func(what string, s spread) {
			fmt.Fprintf(&text, "  %-30s %8.1f %8.1f %8.1f\n", what, s.P50, s.P99, s.Max)
		}
		row("sent to seen", t.FromSend)
		row("acknowledged to seen", t.FromAck)
		fmt.Fprintf(&text, "round trips to brokers in this time, ms\n")
		row("produce an outcome", t.Brokers.Outcome)
		row("produce what it says", t.Brokers.Records)
		row("commit the offsets", t.Brokers.Offsets)
		row("end the transaction", t.Brokers.End)
		fmt.Fprintf(&text, "  a trip waits for these, offsets beside records: %.1f ms at p50, %.0f %% of a trip\n",
			t.Brokers.P50, 100*t.Brokers.Share)
	}
	return text.String()
}
