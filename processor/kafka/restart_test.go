//go:build synctests

package kafka

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
	"github.com/fusebox-project/fusebox/state"
)

// TestStartsWhileBrokersAreAway cuts every connection that asks for the topics, for a minute: a process that starts
// then waits, and works when they answer.
func TestStartsWhileBrokersAreAway(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		w.produceAll(0, 5, waves)
		back := time.Now().Add(time.Minute)
		w.fake.ControlKey(int16(kmsg.Metadata), func(kmsg.Request) (kmsg.Response, error, bool) {
			w.fake.KeepControl()
			away := time.Now().Before(back)
			return nil, errors.New("away"), away
		})
		r := w.start(nil, nil)
		w.ready(r)
		if time.Now().Before(back) {
			t.Error("ready before the brokers answered")
		}
		w.caughtUp()
		w.end(r)
		w.check()
	})
}

// TestStopsBeforeItHasBegun stops a process that brokers have not answered yet: that is no fault.
func TestStopsBeforeItHasBegun(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		w.fake.ControlKey(int16(kmsg.Metadata), func(kmsg.Request) (kmsg.Response, error, bool) {
			w.fake.KeepControl()
			return nil, errors.New("away"), true
		})
		r := w.start(nil, nil)
		time.Sleep(3 * time.Second)
		r.stop()
		if err := w.wait(r); err != nil {
			t.Errorf("Run = %v after it was told to stop, want nil", err)
		}
	})
}

// TestRestoreWhileOthersCommit restores a partition in a process that is stopped between two of its questions, and has
// lost the partition meanwhile without having heard of it: what it then reads is newer than the offsets that it has,
// and no reason to call for a repair.
func TestRestoreWhileOthersCommit(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		owner := w.start(nil, nil)
		w.produceAll(0, 5, waves)
		w.caughtUp()
		idle, err := New(Config{
			Group: group, Instance: "b", Topics: topics, Client: w.Opts(), DataDir: t.TempDir(), Policies: w.policies,
			Workers: 1, Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
		})
		if err != nil {
			t.Fatalf("New: %v", err)
		}
		if idle.cluster, err = connect(t.Context(), topics, group, w.Opts(), func(error) {}); err != nil {
			t.Fatalf("connect: %v", err)
		}
		defer idle.cluster.client.Close()
		if idle.store, err = state.Open(t.TempDir(), state.Identity{}, state.Options{}); err != nil {
			t.Fatalf("Open: %v", err)
		}
		defer idle.store.Close()
		idle.tombstonesKept = time.Hour

		asked, goOn := make(chan struct{}), make(chan struct{})
		w.fake.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
			if r.(*kmsg.ListOffsetsRequest).Topics[0].Topic != topics.Changelog {
				w.fake.KeepControl()
				return nil, nil, false
			}
			w.fake.DropControl()
			w.fake.SleepControl(func() {
				close(asked)
				<-goOn
			})
			return nil, nil, false
		})
		type answer struct {
			restored
			err error
		}
		done := make(chan answer, 1)
		go func() {
			r, err := idle.restore(t.Context(), newPair(0, topics, idle.metrics))
			done <- answer{r, err}
		}()
		<-asked
		w.produceAll(1, 5, waves)
		w.caughtUp()
		close(goOn)
		if got := <-done; got.err != nil || got.base.Outcomes.Next != 10 {
			t.Errorf("restore = %v, goes on at outcome %d; want nil and 10", got.err, got.base.Outcomes.Next)
		}
		w.end(owner)
	})
}

// TestKilledInTransaction ends a process in the middle of a transaction: the next one of its name does not wait until
// the broker gives the transaction up, which it would have to before it could read the changelog.
func TestKilledInTransaction(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		first := w.start(nil, crashAt("before end", 3))
		for round := range 4 {
			w.produceAll(round, 5, waves)
		}
		w.crashes(first)
		began := time.Now()
		second := w.start(nil, nil)
		w.ready(second)
		if took := time.Since(began); took > transactionTimeout/2 {
			t.Errorf("ready after %v, want the transaction of before to be ended at once", took)
		}
		w.caughtUp()
		w.end(second)
		w.check()
	})
}

// TestTailAlone starts with a store that another process has overtaken: what that one wrote is read, and nothing else.
// Without a store everything is.
func TestTailAlone(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		kept := w.dir
		written, round := 0, 0
		for _, life := range []struct {
			name, dir string
			want      func() int // How much is to be read of the changelog.
		}{
			{"new", kept, func() int { return 0 }},
			{"wiped", t.TempDir(), func() int { return len(w.ReadCommitted(t, topics.Changelog)) }},
			{"kept", kept, func() int { return len(w.ReadCommitted(t, topics.Changelog)) - written }},
		} {
			w.dir = life.dir
			want := life.want()
			written = len(w.ReadCommitted(t, topics.Changelog))
			r := w.start(nil, nil)
			w.ready(r)
			if got := value(t, r.metrics.restored); got != float64(want) || life.name != "new" && want == 0 {
				t.Errorf("%s: %v records of the changelog were read of %d, want %d", life.name, got, written, want)
			}
			if got := value(t, r.metrics.restoredBytes); (got > 0) != (want > 0) {
				t.Errorf("%s: %v bytes of the changelog were read", life.name, got)
			}
			for range 4 {
				w.produceAll(round, 5, waves)
				round++
			}
			w.caughtUp()
			w.end(r)
			if life.name == "new" {
				written = len(w.ReadCommitted(t, topics.Changelog))
			}
		}
		w.check()
	})
}

// TestRoomInMemory starts again where all circuits have room in memory, and where they have not: then those alone are
// there that are not closed.
func TestRoomInMemory(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		const circuits, open = 40, 3
		resident := func(most int) int64 {
			r := w.start(func(c *Config) { c.MaxResident = most }, nil)
			w.ready(r)
			time.Sleep(2 * beatEvery)
			in := r.resident.Load()
			w.end(r)
			return in
		}
		r := w.start(nil, nil)
		w.ready(r)
		for i := range circuits {
			circuit, kind := fmt.Sprintf("case:route-%d:v1", i), schemas.Accepted
			if i < open {
				kind = schemas.MissingEvidence
			}
			for n := range 4 {
				w.Produce(t, outcome(circuit, kind, fmt.Sprint(n)))
			}
		}
		w.caughtUp()
		w.end(r)
		if got := resident(2 * circuits); got != circuits {
			t.Errorf("%d circuits are in memory where there is room, want all %d", got, circuits)
		}
		if got := resident(open + 1); got != open {
			t.Errorf("%d circuits are in memory where few have room, want the %d that are open", got, open)
		}
	})
}

// TestOthersWorkMeanwhile restores a partition for minutes: it says how far it is, everywhere, and the other partition
// counts and trips.
func TestOthersWorkMeanwhile(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		w.policies = breaker.Builtin()
		const circuits = 20_000
		fillChangelog(t, w.Endpoint, topics, 2, circuits)
		slow := w.home("slow")
		quick := "quick"
		for w.home(quick) == slow {
			quick += "er"
		}
		r := w.start(nil, func(l *Loop) {
			l.crash = func(point string) error {
				if point == fmt.Sprint("restore of ", slow) {
					time.Sleep(20 * time.Second)
				}
				return nil
			}
		})
		report := func() PartitionReport {
			for _, p := range r.Ready().Partitions {
				if p.Partition == slow {
					return p
				}
			}
			return PartitionReport{}
		}
		w.until("half restored", func() bool { return report().Done > 0 })
		half := report()
		if half.Phase != "restoring" || half.Done >= half.Total || half.Total < circuits/3 {
			t.Errorf("the partition is %+v, want it half restored", half)
		}
		if got := value(t, r.metrics.remain.WithLabelValues(fmt.Sprint(slow))); got != float64(half.Total-half.Done) {
			t.Errorf("fusebox_partition_restore_remaining_records = %v, want %d", got, half.Total-half.Done)
		}
		missing := fmt.Sprint(r.Ready().Missing)
		if want := fmt.Sprintf("partition %d is restoring: %d of %d", slow, half.Done, half.Total); r.Ready().Ready ||
			!strings.Contains(missing, want) {
			t.Errorf("missing is %s, want %q in it", missing, want)
		}
		for i := range 30 {
			w.Produce(t, outcome(quick, schemas.MissingEvidence, fmt.Sprint(i)))
		}
		w.await(quick, func(st schemas.State) bool { return st.State == schemas.Open })
		if report().Phase != "restoring" {
			t.Error("the slow partition was restored before the other one worked: the test tests nothing")
		}
		w.ready(r)
		if text := w.log.String(); !strings.Contains(text, `"time left"=`) {
			t.Error("the log does not say how long the restore takes")
		}
		if got := r.known.Load(); got != circuits+1 {
			t.Errorf("%d circuits are known, want %d", got, circuits+1)
		}
		w.end(r)
	})
}
