package console

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/internal/offsets"
	"github.com/fusebox-project/fusebox/schemas"
)

const (
	eventsKept  = 8192     // In memory, for readers that are slow or come back.
	eventsBytes = 32 << 20 // The same, in bytes.
)

// event is a record of the transitions topic. It never changes.
type event struct {
	id      eventID
	kind    string
	circuit string // Empty for policies.
	text    []byte // The record.
}

// eventID places an event in the transitions topic, for every instance alike. A reader that comes back with the newest
// that it has seen gets all that came later, and perhaps some that it has had: the record's sequence tells them apart.
type eventID struct {
	at        int64 // Unix milliseconds.
	partition int32
	offset    int64
}

// String returns the id as it is sent.
func (id eventID) String() string { return fmt.Sprintf("%d-%d-%d", id.at, id.partition, id.offset) }

// readEventID reads what String returned.
func readEventID(text string) (id eventID, err error) {
	parts := strings.Split(text, "-")
	if len(parts) != 3 {
		return id, fmt.Errorf("event id %q: want three numbers, as of an event of this stream", text)
	}
	var numbers [3]int64
	for i, part := range parts {
		if numbers[i], err = strconv.ParseInt(part, 10, 64); err != nil || numbers[i] < 0 {
			return id, fmt.Errorf("event id %q: %q is no number of an event of this stream", text, part)
		}
	}
	return eventID{numbers[0], int32(numbers[1]), numbers[2]}, nil
}

// Kinds of event.
const (
	transitionEvent = "transition"
	shadowEvent     = "shadow"
	policiesEvent   = "policies"
)

// newEvent returns the event of a record, and whether that is one that this version knows.
func newEvent(r *kgo.Record) (event, bool) {
	if r.Attrs.IsControl() || r.Value == nil {
		return event{}, false
	}
	e := event{
		id:      eventID{r.Timestamp.UnixMilli(), r.Partition, r.Offset},
		circuit: string(r.Key), kind: transitionEvent, text: r.Value,
	}
	kind, err := schemas.TransitionKind(r.Value)
	switch {
	case err != nil || kind == schemas.OtherRecord || kind == schemas.HandledRecord:
		return event{}, false
	case kind == schemas.SwitchRecord:
		e.kind, e.circuit = policiesEvent, ""
	case kind == schemas.ShadowRecord:
		e.kind = shadowEvent
	}
	return e, true
}

// hub keeps the newest events for those who read them at their own pace. A reader that is slower than all that is kept
// has lost its place, and nobody else has.
type hub struct {
	mu      sync.Mutex
	events  []event // A ring.
	first   int64   // The number of the oldest event kept.
	next    int64   // The number of the event to come.
	bytes   int
	changed chan struct{} // Closed at the next event.
	live    bool          // The topic is followed.
}

func newHub() *hub { return &hub{events: make([]event, eventsKept), changed: make(chan struct{})} }

// add takes in events, in their order.
func (h *hub) add(events []event) {
	if len(events) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range events {
		for h.next-h.first == eventsKept || h.next > h.first && h.bytes+len(e.text) > eventsBytes {
			h.bytes -= len(h.events[h.first%eventsKept].text)
			h.events[h.first%eventsKept] = event{}
			h.first++
		}
		h.events[h.next%eventsKept] = e
		h.bytes += len(e.text)
		h.next++
	}
	close(h.changed)
	h.changed = make(chan struct{})
}

// read returns the events from a number on, the number behind them, and a channel that is closed when more have come.
// It reports false where some of them are gone.
func (h *hub) read(from int64, most int) (events []event, next int64, more <-chan struct{}, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if from < h.first {
		return nil, 0, nil, false
	}
	for next = from; next < h.next && len(events) < most; next++ {
		events = append(events, h.events[next%eventsKept])
	}
	return events, next, h.changed, true
}

// end returns the number of the event to come, and whether the topic is followed.
func (h *hub) end() (int64, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.next, h.live
}

// after returns the number of the first event that a reader may not have seen, and whether all such are kept. Brokers
// of several partitions may be some milliseconds apart: what is as old as that comes again.
func (h *hub) after(id eventID) (from int64, ok bool) {
	const apart = 5000
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.first == h.next {
		return 0, false
	}
	if h.events[h.first%eventsKept].id.at > id.at-apart {
		return 0, false
	}
	for from = h.first; from < h.next; from++ {
		if e := &h.events[from%eventsKept]; e.id.at > id.at-apart {
			break
		}
	}
	return from, true
}

func (h *hub) setLive(live bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.live = live
}

// transitions follows the transitions topic from its end on until the context ends.
func (c *Console) transitions(ctx context.Context) {
	for ctx.Err() == nil {
		err := c.transitionsTopic(ctx)
		c.hub.setLive(false)
		if ctx.Err() != nil {
			return
		}
		c.log.Warn("the console follows the transitions anew", "err", err)
		sleep(ctx, tryAgain)
	}
}

func (c *Console) transitionsTopic(ctx context.Context) error {
	starts, ends, err := span(ctx, c.client, c.config.Topics.Transitions)
	if err != nil {
		return err
	}
	for partition, end := range ends { // Go on where it was, where there is such a place.
		if was, known := c.followed[partition]; known && was >= starts[partition] && was < end {
			ends[partition] = was
		}
	}
	r, err := newReader(c.config.Client, c.config.Topics.Transitions, ends)
	if err != nil {
		return err
	}
	defer r.client.Close()
	c.followed = r.positions
	c.hub.setLive(true)
	for {
		records, err := r.next(ctx)
		c.hub.add(eventsOf(records))
		if err != nil {
			return err
		}
	}
}

func eventsOf(records []*kgo.Record) []event {
	var events []event
	for _, record := range records {
		if e, ok := newEvent(record); ok {
			events = append(events, e)
		}
	}
	return events
}

// since reads the events that came after a time from the topic, or from one partition of it where that is not -1, up to
// its end as it is now. Each partition's come in their order. It calls yield with some at a time until that has had
// enough.
func (c *Console) since(ctx context.Context, at time.Time, partition int32, yield func([]event) bool) error {
	topic := c.config.Topics.Transitions
	admin := kadm.NewClient(c.client)
	starts, err := offsets.At(ctx, admin, topic, at)
	if err != nil {
		return err
	}
	ends, err := offsets.Committed(ctx, admin, topic)
	if err != nil {
		return err
	}
	if partition >= 0 {
		starts = map[int32]int64{partition: starts[partition]}
		ends = map[int32]int64{partition: ends[partition]}
	}
	r, err := newReader(c.config.Client, topic, starts)
	if err != nil {
		return err
	}
	defer r.client.Close()
	for !r.reached(ends) {
		records, err := r.next(ctx)
		if err != nil {
			return err
		}
		if !yield(eventsOf(records)) {
			return nil
		}
	}
	return nil
}
