//go:build synctests

package kafka

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/schemas"
)

// faults are the classes of what can happen, by name. Each counts itself when it has taken effect, which may be later.
var faults = map[string]func(*simulation, event){
	"crash at a point":                   (*simulation).crash,
	"killed":                             (*simulation).killed,
	"stopped and started":                (*simulation).stopped,
	"frozen at a point":                  (*simulation).frozenAtPoint,
	"frozen":                             (*simulation).frozen,
	"worker stuck":                       (*simulation).stuck,
	"member evicted":                     (*simulation).evicted,
	"transactional id taken":             (*simulation).fenced,
	"end took effect, answered an error": endFault(kafkatest.EndFault{Err: kerr.UnknownServerError}),
	"end took no effect, answered an error": endFault(
		kafkatest.EndFault{Err: kerr.UnknownServerError, Lost: true}),
	"end took effect, not answered":    endFault(kafkatest.EndFault{}),
	"end took no effect, not answered": endFault(kafkatest.EndFault{Lost: true}),
	"answer lost":                      (*simulation).answerLost,
	"connections reset":                (*simulation).reset,
	"produce refused":                  (*simulation).refused,
	"coordinators moved":               (*simulation).coordinatorsMoved,
	"leaders moved":                    (*simulation).leadersMoved,
	"log start moved":                  (*simulation).logStartMoved,
	"changelog compacted":              (*simulation).compacted,
	"hanging transaction":              (*simulation).hanging,
	"clock off":                        (*simulation).clockOff,
	"disk full":                        (*simulation).diskFull,
	"operator's word":                  (*simulation).operator,
	"policies reloaded":                (*simulation).reloaded,
	"offsets of the group expired":     (*simulation).expired,
	"records deleted unhandled":        (*simulation).deletedUnhandled,
}

var classes = slices.Sorted(maps.Keys(faults))

// weighted are the classes to draw from: what happens at a point of the commit is drawn more often.
var weighted = append(slices.Clone(classes), "crash at a point", "frozen at a point", "frozen at a point")

const effectTwice = "instance stopped as there seemed to be two"

// effects are what else must have happened in a long enough run.
var effects = func() []string {
	all := []string{
		"store old", "store lost", "store damaged", "store ahead", effectSideBySide, effectRanOut, effectShadow,
		"metrics compared", "metrics of circuits compared", effectRecreated,
	}
	for _, point := range points {
		all = append(all, "crash "+point, "frozen "+point)
	}
	return all
}()

func (s *simulation) strike(e event) {
	if slices.ContainsFunc(s.plan.events, func(e event) bool { return e.store == "old" }) {
		for _, i := range s.instances {
			i.copy()
		}
	}
	faults[e.class](s, e)
}

// uncountable notes that what metrics count may be less than all.
func (s *simulation) uncountable() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uncounted = true
}

// target returns the instance of an event and its life, which may be nil.
func (s *simulation) target(e event) (*instance, *life) {
	i := s.instances[e.instance]
	i.look()
	return i, i.life
}

// worker returns the id of a worker of the instance.
func (e event) worker(i *instance) string {
	return fmt.Sprintf("%s-%s-%d", group, i.name, e.pick%uint64(i.workers))
}

func (s *simulation) crash(e event) {
	i, l := s.target(e)
	if l == nil {
		return
	}
	l, e = i.comesTo(l, e)
	l.set(&trap{e.point, e.nth, func() error {
		if i.kill(l, e) {
			s.took(e.class)
			s.took("crash " + e.point)
		}
		return errCrash
	}})
}

// comesTo returns a life that will come to the point of an event: it takes a new one, without a store, to restore.
func (i *instance) comesTo(l *life, e event) (*life, event) {
	if e.point != "in restore" {
		return l, e
	}
	i.kill(l, event{store: "lost"})
	i.look()
	e.nth = 1
	return i.life, e
}

func (s *simulation) killed(e event) {
	if i, l := s.target(e); l != nil && i.kill(l, e) {
		s.took(e.class)
	}
}

func (s *simulation) stopped(e event) {
	i, l := s.target(e)
	if l == nil {
		return
	}
	i.roomAgain()
	l.stopped = true
	l.process.stop()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.again, i.store, i.pick = time.Now().Add(e.lasts), e.store, e.pick
	s.took(e.class)
}

// zombie is how long a process is stopped: longer than a session and a transaction last.
func (e event) zombie() time.Duration { return 11*time.Second + e.lasts/2 }

func (s *simulation) frozenAtPoint(e event) {
	i, l := s.target(e)
	if l == nil {
		return
	}
	l, e = i.comesTo(l, e)
	l.set(&trap{e.point, e.nth, func() error {
		l.freeze(e.zombie(), true)
		s.uncountable()
		s.took(e.class)
		s.took("frozen " + e.point)
		return nil
	}})
}

func (s *simulation) frozen(e event) {
	if _, l := s.target(e); l != nil {
		l.freeze(e.zombie(), true)
		s.uncountable()
		s.took(e.class)
	}
}

func (s *simulation) stuck(e event) {
	_, l := s.target(e)
	if l == nil {
		return
	}
	l.set(&trap{e.point, e.nth, func() error {
		l.freeze(e.zombie(), false)
		s.uncountable()
		s.took(e.class)
		return nil
	}})
}

func (s *simulation) evicted(e event) {
	i, _ := s.target(e)
	info := s.fake.GroupInfo(group)
	if info == nil {
		return
	}
	for _, m := range info.Members {
		if m.ClientID == e.worker(i) {
			s.fake.Evict(s.t, group, m.ClientID)
			s.took(e.class)
			return
		}
	}
}

func (s *simulation) fenced(e event) {
	i, _ := s.target(e)
	s.uncountable()
	s.fake.Fence(s.t, e.worker(i))
	s.took(e.class)
}

func endFault(f kafkatest.EndFault) func(*simulation, event) {
	return func(s *simulation, e event) {
		i, _ := s.target(e)
		f.TxnID, f.Times = e.worker(i), e.nth
		spoiled := s.fake.FailEnd(s.t, f)
		s.uncountable()
		s.mends = append(s.mends, func() { s.tally.add(e.class, spoiled()) })
	}
}

// lossy are the requests whose answers can be lost.
var lossy = []kmsg.Key{
	kmsg.Produce, kmsg.EndTxn, kmsg.TxnOffsetCommit, kmsg.AddOffsetsToTxn, kmsg.InitProducerID, kmsg.JoinGroup,
	kmsg.SyncGroup, kmsg.Heartbeat, kmsg.OffsetFetch, kmsg.Fetch, kmsg.ListOffsets, kmsg.Metadata,
}

func (s *simulation) answerLost(e event) {
	_, l := s.target(e)
	if l == nil {
		return
	}
	l.line.Lose(e.nth, lossy[e.pick%uint64(len(lossy))])
	s.uncountable()
	s.mends = append(s.mends, func() { s.tally.add(e.class, l.line.Lost()) })
}

func (s *simulation) reset(e event) {
	if _, l := s.target(e); l != nil {
		l.line.Reset()
		s.uncountable()
		s.took(e.class)
	}
}

func (s *simulation) refused(e event) {
	topic := []string{topics.Changelog, topics.Transitions, topics.State, topics.Outcomes}[e.pick%4]
	err := []*kerr.Error{kerr.PolicyViolation, kerr.NotEnoughReplicas, kerr.InvalidRecord}[e.pick/4%3]
	f := kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: topic, Err: err, Count: e.nth}
	if topic == topics.Outcomes {
		f.When = isForward // Its producers would be refused too.
	}
	handle := s.fake.Fault(f)
	s.uncountable()
	s.mends = append(s.mends, func() {
		s.tally.add(e.class, int(handle.Hits()))
		handle.Remove()
	})
}

func (s *simulation) coordinatorsMoved(e event) {
	before := s.fake.CoordinatorFor(group)
	for range 5 {
		if s.fake.RehashCoordinators(); s.fake.CoordinatorFor(group) != before {
			s.took(e.class)
			return
		}
	}
}

func (s *simulation) leadersMoved(e event) {
	for n, topic := range kafkatest.Topics(prefix) {
		for id := range s.partitions {
			to := int32((e.pick >> (uint(n) + uint(id)%8)) % 3)
			if err := s.fake.MoveTopicPartition(topic, id, to); err != nil {
				s.t.Errorf("move %s/%d to node %d: %v", topic, id, to, err)
			}
		}
	}
	s.took(e.class)
}

// logStartMoved deletes what the group has handled of the outcomes, some of it or all.
func (s *simulation) logStartMoved(e event) {
	commits, err := s.admin.FetchOffsets(s.t.Context(), group)
	if err != nil {
		return
	}
	s.keepInputs()
	moved := false
	commits.Each(func(o kadm.OffsetResponse) {
		if o.Err != nil || o.At <= 0 || e.pick>>uint(o.Partition%20)%2 == 0 {
			return
		}
		if err := s.fake.DeleteRecords(o.Topic, o.Partition, o.At); err == nil {
			moved = true
		}
	})
	if moved {
		s.took(e.class)
	}
}

// compacted compacts the changelog once no transaction is open: kfake would take an open one's records for the newest,
// and drop those that they would replace. A broker compacts up to the last stable offset alone.
//
// It does not where one was aborted: kfake drops the marker with the records, goes on to name the transaction to
// readers, and so hides from them what its producer writes later. A broker no longer names it then.
func (s *simulation) compacted(e event) {
	for begin := time.Now(); !s.changelogStable(); time.Sleep(100 * time.Millisecond) {
		if time.Since(begin) > 10*time.Second {
			return
		}
	}
	if s.HasAborted(s.t, topics.Changelog) || s.HasAborted(s.t, topics.State) {
		return
	}
	s.fake.Compact()
	s.compacts = true
	s.took(e.class)
}

// hanging leaves a transaction of somebody else open, in the outcomes or in the changelog.
func (s *simulation) hanging(e event) {
	lasts := time.Second + e.lasts
	rogue := s.manual(kgo.TransactionalID(fmt.Sprint("rogue", e.at)), kgo.TransactionTimeout(lasts))
	partition := int32(e.pick % uint64(s.partitions))
	r := &kgo.Record{Topic: topics.Changelog, Partition: partition, Key: []byte("rogue"), Value: []byte("x")}
	if e.pick%2 == 0 {
		r = outcome("case:route-0:v1", schemas.MissingEvidence, "")
		r.Partition = partition
	}
	if err := rogue.BeginTransaction(); err != nil {
		s.t.Errorf("BeginTransaction: %v", err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := rogue.ProduceSync(ctx, r).FirstErr(); err == nil {
		if until := time.Now().Add(lasts); until.After(s.hung) {
			s.hung = until // Its timeout ends it.
		}
		s.took(e.class)
	}
}

// clockOff sets the clock of an instance, which begins a life with it.
func (s *simulation) clockOff(e event) {
	i, _ := s.target(e)
	i.skew = time.Duration(int64(e.pick%7200)-3600) * time.Second
	s.stopped(e)
}

// diskFull lets nothing more be written to the store's disk: where the store looks for room, there is none. A process
// that stops by itself would find no room to close its store either, and never end.
func (s *simulation) diskFull(e event) {
	i, l := s.target(e)
	if l == nil || l.stopped || s.plan.has("transactional id taken") {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	probe := filepath.Join(i.dir, "badger", "probe")
	if err := os.Mkdir(probe, 0o755); err == nil {
		i.full = probe
		s.took(e.class)
	}
}

// operator gives a circuit a word of an operator.
func (s *simulation) operator(e event) {
	modes := []schemas.Mode{schemas.ForceOpen, schemas.ForceClosed, schemas.Disable, schemas.Reset, schemas.Clear}
	word := schemas.Signal{
		Type: schemas.Override, Circuit: s.circuit(int(e.pick)), Mode: modes[e.pick/100%uint64(len(modes))],
		Actor: "me", Reason: "a test", TTL: e.lasts.Truncate(time.Millisecond),
	}
	if s.send(s.manual(), s.placed(signal(word), word.Circuit, murmur2)) {
		s.took(e.class)
	}
}
