package kafka

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/state"
)

// Config is what a Loop is made from. Fields with a default may be left at zero.
type Config struct {
	Group    string    // The consumer group, the same for all instances that share the work.
	Instance string    // Unique within the group: it is part of the transactional ids.
	Version  string    // Of this program, such as "fusebox 1.2.3": what it writes says so. May be empty.
	Topics   Topics    // All six must be named.
	Client   []kgo.Opt // How to reach the brokers: seeds, TLS, SASL.

	DataDir string        // Where the store lives.
	Store   state.Options // Tunes the store; its logger and instance are filled in.

	Policies *breaker.Policies // Default: those of no policy file.

	Workers            int           // Default: the number of cores.
	CommitInterval     time.Duration // Default: 200 ms.
	NoneAhead          bool          // No transaction begins before it is due. See ahead.go.
	ShutdownTimeout    time.Duration // Default: 30 s.
	MaxResident        int           // Circuits in memory, over all partitions. Default: 100,000.
	MaxCircuits        int           // Known circuits, over all partitions. Default: 1,000,000.
	MetricsMaxCircuits int           // Circuits with metric series of their own. Default: 1,000.
	DeadLetterPayload  bool          // Dead letters carry what could not be read.

	Compression kgo.CompressionCodec // Of what is published. Default: none.

	Logger  *slog.Logger          // Default: slog.Default().
	Metrics prometheus.Registerer // Default: a registry that nobody reads.
}

// Validate reports all faults at once.
func (c Config) Validate() error {
	var faults []error
	fault := func(wrong bool, format string, values ...any) {
		if wrong {
			faults = append(faults, fmt.Errorf(format, values...))
		}
	}
	fault(c.Group == "", "group is empty")
	fault(c.Instance == "", "instance is empty: it must be unique within the group")
	fault(c.DataDir == "", "data directory is empty")
	fault(len(c.Client) == 0, "no client options: at least the brokers are needed")
	fault(c.Workers < 0, "workers is %d, want 1 or more", c.Workers)
	fault(c.CommitInterval < 0, "commit interval is %v, want more than 0", c.CommitInterval)
	fault(c.ShutdownTimeout < 0, "shutdown timeout is %v, want more than 0", c.ShutdownTimeout)
	fault(c.MaxResident < 0, "resident circuits are at most %d, want 1 or more", c.MaxResident)
	fault(c.MaxCircuits < 0, "known circuits are at most %d, want 1 or more", c.MaxCircuits)
	fault(c.MetricsMaxCircuits < 0, "circuits with metrics are at most %d, want 1 or more", c.MetricsMaxCircuits)
	faults = append(faults, c.Topics.validate(), c.Store.Validate())
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("configuration of the processor: %w", err)
	}
	return nil
}

// withDefaults fills in what was left at zero.
func (c Config) withDefaults() Config {
	set := func(n *int, value int) {
		if *n == 0 {
			*n = value
		}
	}
	set(&c.Workers, runtime.GOMAXPROCS(0))
	set(&c.MaxResident, 100_000)
	set(&c.MaxCircuits, 1_000_000)
	set(&c.MetricsMaxCircuits, 1_000)
	if c.CommitInterval == 0 {
		c.CommitInterval = 200 * time.Millisecond
	}
	if c.ShutdownTimeout == 0 {
		c.ShutdownTimeout = 30 * time.Second
	}
	if c.Policies == nil {
		c.Policies = breaker.Builtin()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
	}
	c.Store.Logger, c.Store.Instance, c.Store.Version = c.Logger, c.Instance, c.Version
	return c
}

// validate reports topics without a name, and names used twice.
func (t Topics) validate() error {
	var faults []error
	used := map[string]string{}
	for _, topic := range t.named() {
		if topic.name == "" {
			faults = append(faults, fmt.Errorf("topic of %s has no name", topic.use))
			continue
		}
		if other, twice := used[topic.name]; twice {
			faults = append(faults, fmt.Errorf("topic %s is named for %s and for %s", topic.name, other, topic.use))
		}
		used[topic.name] = topic.use
	}
	return errors.Join(faults...)
}

// use is what a topic is for.
type use struct{ use, name string }

// named returns the topics with what they are for.
func (t Topics) named() []use {
	return []use{
		{"outcomes", t.Outcomes}, {"signals", t.Signals}, {"circuit states", t.State},
		{"transitions", t.Transitions}, {"changelog", t.Changelog}, {"dead letters", t.DeadLetters},
	}
}
