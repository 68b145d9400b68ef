package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/internal/oracle"
)

const (
	// chaosLength is how long faults go on, unless FUSEBOX_TEST_CHAOS_MINUTES says otherwise. They go on until each
	// class has come.
	chaosLength = 5 * time.Minute

	// recoveryLimit is how long it may take after a fault until all that was written before is handled. Mostly it is
	// seconds; the machine may have others to serve.
	recoveryLimit = 3 * time.Minute

	// hiddenLimit is how long brokers may keep records from readers: while a leader is cut off, and no other chosen.
	hiddenLimit = 30 * time.Second
)

// chaos is two instances on three brokers, under load, and what happens to them.
type chaos struct {
	*installation
	rng       *rand.Rand
	a, b      *runner
	admin     *kadm.Client
	instances deck
	brokers   deck

	came       map[string]int // Faults by class.
	recoveries []time.Duration
}

// TestChaos lets processes, brokers and the ways between them fail under load, one or two at a time, as a seed tells.
// In the end what was published must be what the pure core says, and each outcome that was acknowledged handled once.
func TestChaos(t *testing.T) {
	t.Parallel()
	kafkatest.Require(t, "kafka", "kcat")
	seed, length := chaosSettings(t)
	t.Logf("FUSEBOX_TEST_SEED=%d", seed)
	c := startChaos(t, rand.New(rand.NewPCG(seed, 0)))
	l := newLoad(c.installation, rand.New(rand.NewPCG(seed, 1)))
	l.pace = 100 * time.Millisecond
	l.hasty = c.Client(t, kgo.RecordDeliveryTimeout(2*time.Second), kgo.AllowIdempotentProduceCancellation())
	l.begin()
	var routers []*router
	for i := range uint64(2) {
		routers = append(routers,
			startRouter(c.installation, fmt.Sprint("router-", 10+i), l.ledger, rand.New(rand.NewPCG(seed, 2+i))))
	}

	for began := time.Now(); time.Since(began) < length || c.missing(); {
		c.step()
	}
	l.end()
	for _, r := range routers {
		r.end(c.installation)
	}
	c.awaitWell()
	c.awaitCaughtUp()
	c.a.stop()
	c.b.stop()

	log := c.log()
	log.Changelog, log.Backlog = c.ReadCommitted(t, c.topics.Changelog), hiddenLimit
	want := c.compare(log)
	l.check(want)
	c.tell(l.ledger, log)
}

// chaosSettings returns the seed, and how long faults go on.
func chaosSettings(t *testing.T) (seed uint64, length time.Duration) {
	t.Helper()
	seed, length = uint64(time.Now().UnixNano()), chaosLength
	if text := os.Getenv("FUSEBOX_TEST_SEED"); text != "" {
		given, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("FUSEBOX_TEST_SEED: %v", err)
		}
		seed = given
	}
	if text := os.Getenv("FUSEBOX_TEST_CHAOS_MINUTES"); text != "" {
		minutes, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatalf("FUSEBOX_TEST_CHAOS_MINUTES: %v", err)
		}
		length = time.Duration(minutes * float64(time.Minute))
	}
	return seed, length
}

func startChaos(t *testing.T, rng *rand.Rand) *chaos {
	t.Helper()
	c := &chaos{
		installation: install(t, kafkatest.StartThree(t), "chaos", loadPolicies), rng: rng,
		came: map[string]int{},
	}
	disk := smallDisk(t, filepath.Join(c.dir, "a"))
	c.instances.all, c.brokers.all = instanceFaults(disk), clusterFaults()
	c.admin = kadm.NewClient(c.Client(t))
	c.a, c.b = c.run("a", 2), c.run("b", 1)
	c.a.awaitReady("")
	c.b.awaitReady("")
	return c
}

// missing tells whether a class of faults has not come yet.
func (c *chaos) missing() bool {
	return len(c.came) < len(c.instances.all)+len(c.brokers.all)
}

// step lets one or two things go wrong, ends that again in either order, and waits until all is well.
func (c *chaos) step() {
	var faults []fault
	switch c.rng.IntN(4) {
	case 0:
		faults = append(faults, c.instances.draw(c.rng))
	case 1:
		faults = append(faults, c.brokers.draw(c.rng))
	default:
		faults = append(faults, c.brokers.draw(c.rng), c.instances.draw(c.rng))
		c.rng.Shuffle(2, func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	}
	var words []string
	var heals []func()
	for _, f := range faults {
		words = append(words, f.class)
		c.came[f.class]++
		heals = append(heals, f.strike(c))
	}
	c.t.Logf("%s: %s", time.Now().Format(time.TimeOnly), strings.Join(words, ", and "))
	for i, f := range faults {
		pause(c.t.Context(), f.shortest+time.Duration(c.rng.Int64N(int64(f.longest-f.shortest))))
		heals[i]()
	}
	took := c.awaitWell()
	c.recoveries = append(c.recoveries, took)
	c.t.Logf("all is well again after %v", took.Round(time.Millisecond))
	pause(c.t.Context(), time.Duration(c.rng.IntN(3000))*time.Millisecond)
}

// awaitWell waits until what the inputs hold now is handled, both instances are ready and all replicas in sync. It
// returns how long that took.
func (c *chaos) awaitWell() time.Duration {
	c.t.Helper()
	began := time.Now()
	var ends kadm.ListedOffsets
	for behind := "the ends of the inputs"; behind != ""; {
		if time.Since(began) > recoveryLimit {
			c.t.Fatalf("not well again after %v: %s", recoveryLimit, behind)
		}
		pause(c.t.Context(), 100*time.Millisecond)
		c.mustLive(c.a)
		c.mustLive(c.b)
		if ends == nil {
			ends = c.ends()
			continue
		}
		if behind = c.behind(ends); behind == "" {
			behind = c.a.unready() + c.b.unready()
		}
	}
	took := time.Since(began)
	c.WaitInSync(c.t)
	return took
}

// unready says what keeps an instance from being ready, or nothing.
func (r *runner) unready() string {
	status, body := r.get("/readyz?verbose")
	if status == http.StatusOK {
		return ""
	}
	return fmt.Sprintf("%s: %d %s\n", r.name, status, body)
}

// mustLive fails the test where an instance has ended by itself.
func (c *chaos) mustLive(r *runner) {
	c.t.Helper()
	select {
	case err := <-r.ended:
		r.cmd = nil
		c.t.Fatalf("%s ended by itself: %v", r.name, err)
	default:
	}
}

// ends returns the last stable offsets of both inputs, or nil where they are not to be had.
func (c *chaos) ends() kadm.ListedOffsets {
	ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Second)
	defer cancel()
	ends, err := c.admin.ListCommittedOffsets(ctx, c.topics.Outcomes, c.topics.Signals)
	if err != nil || ends.Error() != nil {
		return nil
	}
	return ends
}

// behind says which partition the group has not handled to these ends, or nothing. The last offset may be a marker,
// which nobody commits.
func (c *chaos) behind(ends kadm.ListedOffsets) string {
	ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Second)
	defer cancel()
	commits, err := c.admin.FetchOffsets(kadm.RequireStable(ctx), c.group)
	if err == nil {
		err = commits.Error()
	}
	if err != nil {
		return err.Error()
	}
	found := ""
	ends.Each(func(end kadm.ListedOffset) {
		if at := commits[end.Topic][end.Partition].At; at < end.Offset-1 {
			found = fmt.Sprintf("%s/%d handled to %d of %d", end.Topic, end.Partition, at, end.Offset)
		}
	})
	return found
}

// tell says what happened: in the log, and in the file that FUSEBOX_TEST_REPORT names, as nobody sees the log of a test
// that passes.
func (c *chaos) tell(l *ledger, log *oracle.Log) {
	var words strings.Builder
	for _, class := range slices.Sorted(maps.Keys(c.came)) {
		fmt.Fprintf(&words, "%d times %s\n", c.came[class], class)
	}
	sent, acked := l.totals()
	slices.Sort(c.recoveries)
	fmt.Fprintf(&words, "%d outcomes sent, %d acknowledged; %d recoveries, half of them within %v, the longest %v; "+
		"longest time without a commit %v\n", sent, acked, len(c.recoveries),
		c.recoveries[len(c.recoveries)/2].Round(time.Millisecond),
		c.recoveries[len(c.recoveries)-1].Round(time.Millisecond), longestGap(log.Transitions))
	c.t.Log("\n" + words.String())
	if path := os.Getenv("FUSEBOX_TEST_REPORT"); path != "" {
		if err := os.WriteFile(path, []byte(words.String()), 0o600); err != nil {
			c.t.Error(err)
		}
	}
	if c.missing() {
		c.t.Errorf("%d classes of faults came", len(c.came))
	}
	if sent == acked {
		c.t.Errorf("all of %d outcomes were acknowledged, want some that were not", sent)
	}
}

// longestGap returns the longest time between two records of a topic.
func longestGap(records []*kgo.Record) (longest time.Duration) {
	var times []time.Time
	for _, r := range records {
		times = append(times, r.Timestamp)
	}
	slices.SortFunc(times, time.Time.Compare)
	for i := 1; i < len(times); i++ {
		longest = max(longest, times[i].Sub(times[i-1]))
	}
	return longest
}
