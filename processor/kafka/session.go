package kafka

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

const (
	transactionTimeout = 10 * time.Second
	sessionTimeout     = 10 * time.Second
	heartbeatInterval  = 250 * time.Millisecond // Of the group member, which hears of a rebalance by its answer.
	fetchMaxWait       = 250 * time.Millisecond
	fetchMaxBytes      = 1 << 20 // Of one answer of one broker. It may be ten times that once decompressed.
	fetchPartBytes     = 512 << 10
	batchMaxBytes      = 64 << 20 // Of one batch once decompressed; what is larger is skipped and named.
	maxPoll            = 8192     // Records handled between two looks at the clock, about 20 ms of work.
	maxBuffered        = 200_000

	closeWithin = 500 * time.Millisecond // A join round that others hold up is left after it.
)

// open makes the session of a worker: one member of the group and one transactional id. The member is static, so that
// a process that is killed and started again has its partitions back at once, and so that a second process with the
// same id is found out.
func (w *worker) open() error {
	c := &w.loop.config
	w.publisher.limits = w.loop.cluster.known()
	ctx, cut := context.WithCancel(context.Background())
	opts := append(w.loop.client(w.id),
		kgo.WithContext(ctx),
		kgo.ConsumerGroup(c.Group),
		kgo.InstanceID(w.id),
		kgo.ConsumeTopics(c.Topics.Outcomes, c.Topics.Signals),
		kgo.Balancers(newBalancer(c.Topics, w.synced)),
		kgo.BlockRebalanceOnPoll(),
		kgo.SessionTimeout(sessionTimeout),
		kgo.HeartbeatInterval(heartbeatInterval),
		kgo.OnPartitionsAssigned(w.assigned),
		kgo.OnPartitionsRevoked(w.revoked),
		kgo.OnPartitionsLost(w.revoked),
		kgo.DisableAutoCommit(),

		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), // A position is known from the last record alone then: markers end every transaction.
		kgo.FetchMaxWait(fetchMaxWait),
		kgo.FetchMaxBytes(fetchMaxBytes),
		kgo.FetchMaxPartitionBytes(fetchPartBytes),
		kgo.MaxDecompressBatchBytes(batchMaxBytes),
		kgo.WithPools(&w.loop.memory),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),

		kgo.TransactionalID(w.id),
		kgo.TransactionTimeout(transactionTimeout),
		kgo.ConcurrentTransactionsBackoff(endingPause),
		kgo.RetryBackoffFn(retryBackoff),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(c.Compression, kgo.NoCompression()),
		kgo.ProducerLinger(5*time.Millisecond),
		kgo.ProducerBatchMaxBytesFn(w.publisher.limits.limit),
		kgo.MaxBufferedRecords(maxBuffered),
	)
	if !w.loop.cluster.adds { // From version 5 on these brokers would do what the client has done already.
		versions := kversion.Stable()
		versions.SetMaxKeyVersion(kmsg.TxnOffsetCommit.Int16(), 4)
		opts = append(opts, kgo.MaxVersions(versions))
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		cut()
		return fmt.Errorf("open the session %s: %w", w.id, err)
	}
	w.client, w.cut = client, cut
	return nil
}

// retryBackoff is how long the client waits before it tries again what failed so many times. The first times it is not
// long: two requests of one transaction that reach a broker at once may each be the one that is turned away.
func retryBackoff(failures int) time.Duration {
	const least, most = 5 * time.Millisecond, 5 * time.Second
	pause := least << min(2*max(failures-1, 0), 10)
	return min(pause/2+rand.N(pause), most)
}

// takeOver makes the transactional id this session's own at once, and not with its first transaction: one that a killed
// process of the same name has left open ends here, and would otherwise hold up the restore until the broker gives it
// up.
func (w *worker) takeOver(ctx context.Context) error {
	if _, _, err := w.client.ProducerID(ctx); err != nil {
		return fmt.Errorf("%w: take over the transactional id %s: %w", errRejoin, w.id, err)
	}
	return nil
}

// synced runs when a generation of the group begins, before any of its assignments and revocations.
func (w *worker) synced(partitions map[string][]int32) { w.inbox.put(membership{partitions}) }

// assigned runs inside a rebalance: it stops the new partitions from being polled, leaves word and returns.
func (w *worker) assigned(_ context.Context, client *kgo.Client, partitions map[string][]int32) {
	client.PauseFetchPartitions(partitions)
	member, _ := client.GroupMetadata()
	w.inbox.put(assignment{member, partitions})
}

// revoked runs inside a rebalance, for partitions given up and for partitions lost. Until it has run the group gives
// them to nobody, unless this member is lost; and behind it no offsets are taken until the worker has taken note.
func (w *worker) revoked(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
	w.inbox.put(revocation{partitions})
}
