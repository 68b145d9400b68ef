package kafka

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
	"github.com/fusebox-project/fusebox/state"
)

// pair is one partition of the work: outcomes partition i and signals partition i, and the circuits that live there.
// A worker's goroutine owns it, and while it is restored the restore does.
type pair struct {
	id    int32
	phase phase
	stop  context.CancelFunc // Ends the restore.
	again time.Time          // Where it is refused: not to be tried again before that.
	told  string             // Why it was refused, as the log has it already.

	member string // Who the worker was in the group when it was given the pair.

	core     *processor.Partition
	policies *inForce           // As of the last commit.
	regimes  []processor.Regime // The same, and those before.
	switches bool               // Others are to be put in force before the next record.
	outcomes feed
	signals  feed
	newest   newest
	held     bool     // The signals are not polled: too many wait.
	muted    []string // Topics that are not polled up to the next heartbeat: the last answer was an error.
	unsure   bool     // It was so up to the last heartbeat.

	end       int64 // Of the outcomes, as it was when the signals below endCovers had been polled.
	endCovers int64
	from      int64 // Where the outcomes went on when the pair was restored.
	target    int64 // Where the outcomes ended when the pair was restored: up to there it catches up.
	signalsTo int64 // Up to where signals have to be polled before outcomes are handled.

	base    progress // As last committed.
	stamp   string   // Of the group's offsets, as last committed; empty where it has none.
	origins origins  // As last committed.
	known   int      // Circuits known as of the last commit.
	counted int      // Circuits in memory that the process has counted.

	out     output
	changes []state.Change       // What the transaction under way leaves in the changelog.
	poison  map[poisonKey]poison // Records that are to be set aside when they come again.

	sweeps   time.Time // When idle circuits are looked for next, and in the store.
	searches time.Time
	searched string // Where a search of the store goes on.

	high int64 // The high watermark of the outcomes, as last seen.

	circuits map[string]*series // Those with series of their own.
	others   *series            // Of all the rest.
	outages  map[string]outage  // The circuits that are not closed.
}

func newPair(id int32, topics Topics, m *metrics) *pair {
	return &pair{
		id: id, outcomes: feed{topic: topics.Outcomes}, signals: feed{topic: topics.Signals}, origins: origins{},
		circuits: map[string]*series{}, outages: map[string]outage{}, others: &series{m: m, circuit: otherCircuits},
	}
}

// output is what a pair has to publish in the next transaction, beside the circuits touched.
type output struct {
	records    int             // Handled since the last commit.
	known      int             // Circuits that became known, less those forgotten.
	states     []schemas.State // Of circuits, and behind them those of their shadows.
	handled    []handled       // What tells in which order inputs were handled.
	news       bool            // Among them is one for which routers wait: not only of circuits that became known.
	appended   []time.Time     // When the outcomes behind those states were appended.
	letters    []*kgo.Record
	origins    origins
	switched   *inForce // Other policies that came in force.
	switchedAt schemas.Inputs
	heartbeat  bool
	swept      []string  // Circuits that are forgotten.
	touched    []*series // With something to count at the commit.
	tally      [2]recordTally
	clamped    int // Outcomes whose own time was clamped.
}

// handled are the offsets of both inputs between two records, and how many states came before.
type handled struct {
	below  schemas.Inputs
	states int
}

// empty tells whether there is nothing to publish and no offset to commit.
func (o *output) empty() bool {
	return o.records == 0 && len(o.states) == 0 && o.switched == nil && !o.heartbeat && len(o.swept) == 0
}

// urgent tells whether something is to be published that must not wait for the commit interval.
func (o *output) urgent() bool {
	return o.news || o.switched != nil
}

// statesKept is for how many states memory is kept from one transaction to the next.
const statesKept = 1024

// clear empties the output for the next transaction.
func (o *output) clear() {
	if cap(o.states) > statesKept {
		o.states = nil
	}
	clear(o.states)
	clear(o.letters)
	clear(o.touched)
	*o = output{
		states: o.states[:0], handled: o.handled[:0], appended: o.appended[:0], letters: o.letters[:0],
		touched: o.touched[:0],
	}
}

// inputs returns the next offsets of both topics.
func (p *pair) inputs() schemas.Inputs {
	return schemas.Inputs{Outcomes: p.outcomes.next, Signals: p.signals.next}
}

// tally returns where the records of a feed are counted.
func (p *pair) tally(from *feed) *recordTally {
	if from == &p.signals {
		return &p.out.tally[1]
	}
	return &p.out.tally[0]
}

// seen returns the highest origin offset handled from a place, and whether there is one.
func (p *pair) seen(key originKey) (int64, bool) {
	if offset, ok := p.out.origins[key]; ok {
		return offset, true
	}
	offset, ok := p.origins[key]
	return offset, ok
}

// rollback drops all that is not committed, and begins again at the last commit. What was counted for metrics goes too.
// Where other policies came in force, the old ones are back, with an empty memory that the store fills again.
func (p *pair) rollback() {
	if p.out.switched != nil {
		p.core = processor.Restore(p.regimes)
		p.core.SetClock(p.base.clock())
		p.switches = true
	} else {
		p.core.Rollback()
	}
	for _, s := range p.out.touched {
		s.drop()
	}
	p.out.clear()
	p.signalsTo = max(p.signalsTo, p.signals.polled)
	p.begin()
}

// begin goes on at the last commit. Which timestamps were handled before it nobody knows any more: the clock does not
// tell of those that were set aside, forwarded or clamped.
func (p *pair) begin() {
	p.outcomes.reset(p.base.Outcomes.Next)
	p.signals.reset(p.base.Signals.Next)
	if p.newest = (newest{}); p.inputs() != (schemas.Inputs{}) {
		p.newest = newest{anyTime, anyTime}
	}
	p.end, p.endCovers = 0, 0
}

// offsets returns where both partitions go on, for the client.
func (p *pair) offsets(into map[string]map[int32]kgo.EpochOffset) {
	for _, f := range []*feed{&p.outcomes, &p.signals} {
		if into[f.topic] == nil {
			into[f.topic] = map[int32]kgo.EpochOffset{}
		}
		into[f.topic][p.id] = kgo.EpochOffset{Epoch: -1, Offset: f.next}
	}
}
