package client

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

// Config says where the brokers are, and what a gate does where a choice is to be made. The zero value of all but
// Brokers is the default.
type Config struct {
	Brokers []string // Addresses to begin with, as host:port. They may stand among Kafka instead.
	Prefix  string   // Of the topics' names; "fusebox." where it is empty.
	Topics  Topics   // Names of their own.

	// Router is who holds leases, who reports, and whose calls pass a ramp. It is the host name and a few random
	// characters where it is empty. Two processes must not have the same.
	Router string
	// ProbeWait is how long Enter waits for the lease that it has claimed, 500 ms where it is 0.
	ProbeWait time.Duration
	// OnSilence is what becomes of calls to a circuit whose processor was not heard of for SilenceAfter, 30 s where
	// that is 0, and before a gate that starts unready knows its circuits.
	OnSilence    OnSilence
	SilenceAfter time.Duration
	// StartUnready lets Open and NewReporter return at once. Until a gate has caught up it does as OnSilence says, and
	// what comes of its calls is reported under no epoch: it counts if the call began after the last change.
	StartUnready bool
	// Policies say where to go while a circuit refuses, in the place of those that the processor publishes.
	Policies *breaker.Policies

	// Combine says which accepted outcomes are added up before they are sent.
	Combine Combine
	// ReportWait is how long Report waits for room in the queue of what the brokers have not taken yet: 10 ms where it
	// is 0, not at all where it is negative.
	ReportWait time.Duration
	// QueueRecords and QueueBytes bound that queue: 10,000 and 16 MiB where they are 0.
	QueueRecords, QueueBytes int

	Kafka []kgo.Opt    // How to reach the brokers: TLS, SASL, a dialer.
	Log   *slog.Logger // slog.Default() where it is nil.
}

// Topics are the names of the topics that a client uses. One that is empty follows from the prefix.
type Topics struct{ Outcomes, Signals, State string }

// OnSilence is what a gate does with calls to a circuit that no processor was heard of for too long.
type OnSilence uint8

// What to do in a silence.
const (
	Keep      OnSilence = iota // Go by what is known, as time changes it. Claims are not answered.
	AllowAll                   // Admit all calls, of circuits that an operator keeps open too.
	RefuseAll                  // Refuse all calls.
)

const (
	defaultPrefix       = "fusebox."
	defaultProbeWait    = 500 * time.Millisecond
	defaultSilenceAfter = 30 * time.Second
	defaultReportWait   = 10 * time.Millisecond
	defaultRecords      = 10_000
	defaultBytes        = 16 << 20
)

// Validate returns all that is wrong, in one error, or nil.
func (c Config) Validate() error {
	var faults []error
	if len(c.Brokers) == 0 && len(c.Kafka) == 0 {
		faults = append(faults, errors.New("no Brokers: want addresses, as localhost:9092"))
	}
	for _, address := range c.Brokers {
		if strings.TrimSpace(address) == "" {
			faults = append(faults, errors.New("an address among Brokers is empty"))
		}
	}
	if c.Router != schemas.Cut(c.Router, schemas.MaxName) {
		faults = append(faults, fmt.Errorf("Router %q: want at most %d bytes without control characters",
			c.Router, schemas.MaxName))
	}
	if c.ProbeWait < 0 {
		faults = append(faults, fmt.Errorf("ProbeWait %v: must not be negative", c.ProbeWait))
	}
	if c.SilenceAfter < 0 {
		faults = append(faults, fmt.Errorf("SilenceAfter %v: must not be negative", c.SilenceAfter))
	}
	if c.OnSilence > RefuseAll {
		faults = append(faults, fmt.Errorf("OnSilence %d: want Keep, AllowAll or RefuseAll", c.OnSilence))
	}
	if c.Combine > CombineNever {
		faults = append(faults, fmt.Errorf("Combine %d: want CombineSame, CombineAlways or CombineNever", c.Combine))
	}
	if c.QueueRecords < 0 || c.QueueBytes < 0 {
		faults = append(faults, fmt.Errorf("QueueRecords %d, QueueBytes %d: must not be negative",
			c.QueueRecords, c.QueueBytes))
	}
	return errors.Join(faults...)
}

// withDefaults fills in what is not set.
func (c Config) withDefaults() Config {
	prefix := cmp.Or(c.Prefix, defaultPrefix)
	c.Topics.Outcomes = cmp.Or(c.Topics.Outcomes, prefix+"outcomes.v1")
	c.Topics.Signals = cmp.Or(c.Topics.Signals, prefix+"signals.v1")
	c.Topics.State = cmp.Or(c.Topics.State, prefix+"circuit-state.v1")
	c.ProbeWait = cmp.Or(c.ProbeWait, defaultProbeWait)
	c.SilenceAfter = cmp.Or(c.SilenceAfter, defaultSilenceAfter)
	c.ReportWait = cmp.Or(c.ReportWait, defaultReportWait)
	c.QueueRecords = cmp.Or(c.QueueRecords, defaultRecords)
	c.QueueBytes = cmp.Or(c.QueueBytes, defaultBytes)
	c.Log = cmp.Or(c.Log, slog.Default())
	if c.Router == "" {
		host, _ := os.Hostname()
		c.Router = schemas.Cut(cmp.Or(host, "router"), schemas.MaxName-10) + "-" + strings.ToLower(rand.Text()[:8])
	}
	return c
}

// kafka returns the options of a client that reaches the brokers. Those of the caller come first, so that more may
// follow.
func (c Config) kafka(more ...kgo.Opt) []kgo.Opt {
	opts := []kgo.Opt{kgo.ClientID("fusebox-client")}
	if len(c.Brokers) > 0 {
		opts = append(opts, kgo.SeedBrokers(c.Brokers...))
	}
	return append(append(opts, c.Kafka...), more...)
}
