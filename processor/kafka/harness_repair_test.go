package kafka

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
)

// setOffsets commits the group's offsets by hand, as an operator with Kafka's own tools would.
func (w *world) setOffsets(outcomes, signals int64) {
	w.t.Helper()
	offsets := kadm.Offsets{}
	offsets.AddOffset(topics.Outcomes, 0, outcomes, -1)
	offsets.AddOffset(topics.Signals, 0, signals, -1)
	if err := kadm.NewClient(w.Client(w.t)).CommitAllOffsets(context.Background(), group, offsets); err != nil {
		w.t.Fatalf("CommitAllOffsets: %v", err)
	}
}

func (w *world) openRepair() *Repair {
	w.t.Helper()
	r, err := OpenRepair(context.Background(), topics, group, w.Opts())
	if err != nil {
		w.t.Fatalf("OpenRepair: %v", err)
	}
	w.t.Cleanup(r.Close)
	return r
}

func (w *world) standings(r *Repair) []Standing {
	w.t.Helper()
	all, err := r.Standings(context.Background())
	if err != nil {
		w.t.Fatalf("Standings: %v", err)
	}
	return all
}

// refusal waits until a processor says that it does not start partition 0, and returns why.
func (w *world) refusal(r *process) (why string) {
	w.t.Helper()
	w.until("refused", func() bool {
		why = fmt.Sprint(r.Ready().Missing)
		return strings.Contains(why, "partition 0 is refused")
	})
	return why
}
