package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/puzpuzpuz/xsync/v4"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

// Reporter sends outcomes to the brokers. It is a Gate's, or stands alone in a program that only produces: see
// NewReporter. Many goroutines may use it. The outcomes of a circuit arrive in the order in which they were reported.
//
// It never holds a call up for longer than Config.ReportWait, whatever the brokers do. What waits for them is bounded
// by Config.QueueRecords and Config.QueueBytes; outcomes for which there is no room, and those that the brokers have
// not taken after two minutes, are lost, counted in its Stats, and logged once a minute.
type Reporter struct {
	config Config
	kafka  *kgo.Client
	owner  bool // The client ends with the reporter.

	combiner *combiner
	queue    *queue
	losses   *losses
	unknown  *xsync.Map[string, struct{}] // Kinds that no policy knew, and that were told.
	sent     atomic.Int64                 // Records that the brokers have.
	told     atomic.Int64                 // Outcomes in them.

	closing sync.Once
	closed  atomic.Bool
	stop    chan struct{}
	work    sync.WaitGroup
	err     error // Of Close.
}

// deliveryTimeout is how long an outcome waits for the brokers. Older ones say little about the route as it is.
const deliveryTimeout = 2 * time.Minute

// NewReporter returns a reporter for a program without a gate. As Open does, it waits until the brokers answer and have
// its topic, as long as the context allows, without a deadline for as long as it takes; it logs at once what it waits
// for, and returns at once what no waiting mends, such as a password that is refused. With Config.StartUnready it waits
// for nothing. The context bounds nothing else. Such a reporter knows no epochs and no policies, and sends every
// outcome in a record of its own.
func NewReporter(ctx context.Context, c Config) (*Reporter, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("the configuration of the reporter: %w", err)
	}
	c = c.withDefaults()
	kafka, err := kgo.NewClient(c.kafka(producing()...)...)
	if err != nil {
		return nil, fmt.Errorf("make the reporter's Kafka client: %w", err)
	}
	if !c.StartUnready {
		if err := awaitTopic(ctx, kafka, c); err != nil {
			kafka.Close()
			return nil, err
		}
	}
	r := newReporter(kafka, c)
	r.owner = true
	return r, nil
}

// leadersAge is how soon a client asks again who leads the partitions. It does so before it sends again what a broker
// has turned down; its own five seconds would hold up claims and outcomes for as long.
const leadersAge = 250 * time.Millisecond

// producing returns how a client produces for a reporter: idempotent and acknowledged by all replicas, as kgo does by
// itself, to the partition that murmur2 of the circuit chooses, at once. The queue bounds what waits, so kgo's own
// bound is far off. What was sent and never answered is given up in time too: it may have arrived, but nobody sends it
// again.
func producing() []kgo.Opt {
	return []kgo.Opt{
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerLinger(0), kgo.RecordDeliveryTimeout(deliveryTimeout),
		kgo.AllowIdempotentProduceCancellation(), kgo.MaxBufferedRecords(1 << 30),
		kgo.MetadataMinAge(leadersAge),
	}
}

// awaitTopic waits until the brokers have the topic of outcomes.
func awaitTopic(ctx context.Context, kafka *kgo.Client, c Config) error {
	var why error // The first time it was not the context that ended.
	for {
		err := findTopic(ctx, kafka, c.Topics.Outcomes)
		if err == nil || hopeless(err) {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("the reporter has not found its brokers: %w: %w", cmp.Or(why, err), context.Cause(ctx))
		}
		if why == nil {
			why = err
			c.Log.Warn("the reporter waits for its brokers", "err", err)
		}
		pause(ctx, askAgain)
	}
}

// hopeless tells whether a question that was answered with an error need not be asked again.
func hopeless(err error) bool {
	refused := (*kerr.Error)(nil)
	return errors.As(err, &refused) && !refused.Retriable
}

// askPatience is how long one question may take before the log tells that there is no answer.
const askPatience = 10 * time.Second

// findTopic asks the brokers for a topic.
func findTopic(ctx context.Context, kafka *kgo.Client, name string) error {
	ask, topic := kmsg.NewPtrMetadataRequest(), kmsg.NewMetadataRequestTopic()
	topic.Topic = &name
	ask.Topics = append(ask.Topics, topic)
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	answer, err := ask.RequestWith(ctx, kafka)
	if err != nil {
		return fmt.Errorf("ask the brokers for topic %s: %w", name, err)
	}
	for _, t := range answer.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return fmt.Errorf("topic %s: %w: create the topics with `fusebox topics create`, "+
				"or name them in Topics or Prefix", name, err)
		}
	}
	return nil
}

// newReporter returns a reporter on a client that was made with producing and that is somebody else's.
func newReporter(kafka *kgo.Client, c Config) *Reporter {
	r := &Reporter{
		config: c, kafka: kafka, stop: make(chan struct{}), combiner: newCombiner(c.Combine),
		queue: newQueue(c.QueueRecords, c.QueueBytes, c.ReportWait), losses: newLosses(c.Log),
		unknown: xsync.NewMap[string, struct{}](),
	}
	r.work.Go(r.settleDue)
	r.work.Go(func() { r.losses.tell(r.stop) })
	return r
}

// Report says how a call to a circuit went that no gate admitted. An error says that the outcome was not taken: it is
// not fit to be sent, there was no room for it, or the reporter is closed.
func (r *Reporter) Report(circuit string, o Outcome) error {
	return r.send(&Lease{circuit: circuit}, &o)
}

// learn tells which policies are in force; nil is such as cannot be read. Until there are some nothing is added up, and
// the accounts do not hear of what is sent.
func (r *Reporter) learn(p *breaker.Policies) {
	if r.combiner.policies.Load() == nil {
		r.combiner.distrust(now())
	}
	r.combiner.policies.Store(p)
	if p == nil {
		r.settleAll() // So that it goes before what will go alone.
	}
}

// send sends the outcome of a lease's call. A lease without a sink is that of a call which no gate admitted.
func (r *Reporter) send(l *Lease, o *Outcome) error {
	if r.closed.Load() {
		return ErrClosed
	}
	policies := r.combiner.policies.Load()
	adds := l.sink != nil && (r.combiner.adds(policies) || l.blind && r.config.Combine == CombineSame)
	if adds && l.plain {
		if b := r.combiner.find(l); b != nil {
			added := b.add(l.epoch, o)
			b.mu.Unlock()
			if added {
				return nil
			}
		}
	}
	record, err := o.record(l)
	if err != nil {
		return err
	}
	size := weigh(&record)
	if !r.queue.take(size) {
		r.losses.add(1, ErrQueueFull)
		return ErrQueueFull
	}
	if adds {
		if b := r.combiner.open(l); b != nil {
			defer b.mu.Unlock()
			if err := r.enter(b, l, o, parcel{record, size}, policies); err != nil {
				return err
			}
			return r.known(record.Kind)
		}
	}
	r.produce(&record, size)
	return r.known(record.Kind)
}

// mostUnknown is how many kinds are told of that no policy knows.
const mostUnknown = 100

// known tells of a kind that no policy in force knows, once in the log, as Guard has nobody to tell.
func (r *Reporter) known(kind string) error {
	p := r.combiner.policies.Load()
	if p == nil {
		return nil
	}
	err := knows(p, kind)
	if err != nil && r.unknown.Size() < mostUnknown {
		if _, told := r.unknown.LoadOrStore(kind, struct{}{}); !told {
			r.config.Log.Warn("outcomes count as nothing about their route", "err", err)
		}
	}
	return err
}

// produce gives an outcome to the client, whatever comes of it. The queue has room for it.
func (r *Reporter) produce(o *schemas.Outcome, size int64) {
	if o.ID == "" {
		o.ID = ulid.Make().String()
	}
	if o.Time.IsZero() {
		o.Time = now()
	}
	o.Source = r.config.Router
	n := o.Count
	r.kafka.TryProduce(context.Background(), &kgo.Record{
		Topic: r.config.Topics.Outcomes, Key: []byte(o.Circuit), Value: schemas.AppendOutcome(nil, o),
	}, func(_ *kgo.Record, err error) {
		r.queue.give(size)
		if err != nil {
			forgetTopic(r.kafka, r.config.Topics.Outcomes, err)
			r.losses.add(n, err)
			return
		}
		r.sent.Add(1)
		r.told.Add(n)
	})
}

// forgetTopic lets a client ask anew for a topic that was made anew. By itself it asks no more.
func forgetTopic(kafka *kgo.Client, topic string, err error) {
	if errors.Is(err, kerr.UnknownTopicID) {
		kafka.PurgeTopicsFromProducing(topic)
	}
}

// ReporterStats says what has become of the outcomes that were reported.
type ReporterStats struct {
	Outcomes int64 // That the brokers have.
	Records  int64 // In which they are: fewer where outcomes were added up.
	Lost     int64 // Outcomes for which the queue had no room, or that the brokers did not take.
	Waiting  int64 // Records in the queue now.
}

// Stats returns what has become of the outcomes so far.
func (r *Reporter) Stats() ReporterStats {
	return ReporterStats{
		Outcomes: r.told.Load(), Records: r.sent.Load(), Lost: r.losses.all.Load(), Waiting: r.queue.waiting.Load(),
	}
}

// Close sends what waits to be sent, for some seconds at most, and ends the reporter. The error says how many outcomes
// were lost by that.
func (r *Reporter) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	return r.flush(ctx)
}

// flush is Close for as long as a context allows. A client that is somebody else's may still have records to send.
func (r *Reporter) flush(ctx context.Context) error {
	r.closing.Do(func() {
		r.closed.Store(true)
		r.settleAll()
		err := r.kafka.Flush(ctx)
		if waiting := r.queue.waiting.Load(); err != nil && waiting > 0 {
			r.err = fmt.Errorf("records with outcomes are lost, as no broker took them within %v: %d",
				closeWait, waiting)
		}
		if r.owner {
			r.kafka.Close()
		}
		close(r.stop)
		r.work.Wait()
	})
	return r.err
}

// ErrQueueFull says that an outcome was lost, as too many wait for the brokers.
var ErrQueueFull = errors.New("the outcome is lost: too many wait for the brokers")
