// Package console is what people and programs see of Fusebox over HTTP: the API under /v1, its description, and the
// web page. Any instance answers for any circuit, as it follows the state topic; what a circuit's windows hold, the
// instance that works on its partition alone knows. It decides nothing: what is asked of it, it puts on the log.
package console

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/kafka"
)

// Config is what a Console is made from.
type Config struct {
	Client   []kgo.Opt // How to reach the brokers: seeds, TLS, SASL.
	Topics   kafka.Topics
	Loop     *kafka.Loop // The processor of this process.
	Instance string      // Its name.
	Version  string      // Of this program.

	APIToken   string // Asked for outcomes and claims. Where it is empty they need Loopback.
	AdminToken string // Asked for what operators do. Where it is empty that is not served.
	Loopback   bool   // The address on which this is served cannot be reached from elsewhere.

	Level   *slog.LevelVar // Of the log, for those who may change it; nil where nobody may.
	Logger  *slog.Logger
	Metrics prometheus.Registerer // Nil where nobody asks for metrics.
}

// Console serves HTTP. Run has to be under way for it to know anything.
type Console struct {
	config   Config
	log      *slog.Logger
	client   *kgo.Client // Outside any group: asks, and writes outcomes and signals.
	view     *view
	hub      *hub
	followed map[int32]int64                  // How far the transitions were followed. Of the goroutine that does.
	readers  chan struct{}                    // Taken by each reader of the stream.
	searches chan struct{}                    // Taken by each that reads the transitions topic.
	ended    chan struct{}                    // Closed when nothing is followed any more.
	read     atomic.Pointer[breaker.Policies] // The policies in force, as last read.
	metrics  *metrics
	handler  http.Handler
}

const (
	mostReaders  = 4000 // Of the stream, at once.
	mostSearches = 4    // Of the transitions topic, at once.
)

// New makes a Console. It reaches for nothing yet.
func New(config Config) (*Console, error) {
	c := &Console{
		config: config, log: config.Logger, view: newView(), hub: newHub(),
		readers: make(chan struct{}, mostReaders), searches: make(chan struct{}, mostSearches),
		ended: make(chan struct{}),
	}
	var err error
	if c.metrics, err = newMetrics(config.Metrics, func() int { return len(c.readers) }); err != nil {
		return nil, fmt.Errorf("register the console's metrics: %w", err)
	}
	c.client, err = kgo.NewClient(append(append([]kgo.Opt{}, config.Client...),
		kgo.RecordDeliveryTimeout(writeWithin), kgo.MaxBufferedRecords(mostOutcomes*16))...)
	if err != nil {
		return nil, fmt.Errorf("make the console's Kafka client: %w", err)
	}
	c.handler = c.routes()
	return c, nil
}

// Run follows the topics until the context ends, and then ends the streams and all that waits for an answer. It may be
// called once.
func (c *Console) Run(ctx context.Context) {
	defer c.client.Close()
	var wg sync.WaitGroup
	wg.Go(func() {
		<-ctx.Done()
		close(c.ended)
	})
	wg.Go(func() { c.states(ctx) })
	wg.Go(func() { c.transitions(ctx) })
	wg.Wait()
}

func (c *Console) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// Handler returns what serves it all.
func (c *Console) Handler() http.Handler { return c.handler }

// sameToken compares tokens in a time that tells nothing of either.
func sameToken(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
