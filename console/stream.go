package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/fusebox-project/fusebox/breaker"
)

const (
	eventsAtOnce = 256              // Written between two looks at the reader.
	aliveEvery   = 15 * time.Second // A comment, so that nobody in between takes the stream for dead.
	takeWithin   = 10 * time.Second // A reader that does not take what is written in that time is let go.
	oldest       = 7 * 24 * time.Hour
)

// streamInput asks for the stream.
type streamInput struct {
	Match  string `query:"match" maxLength:"400" doc:"Only circuits whose names match this glob."`
	Shadow bool   `query:"shadow" doc:"With the transitions of shadows."`
	Last   string `header:"Last-Event-ID" maxLength:"80" doc:"What came after that event is sent first."`
	From   string `query:"last_event_id" maxLength:"80" doc:"The same, for those who cannot set headers."`
}

func (c *Console) registerStream(api huma.API) {
	register(api, huma.Operation{
		OperationID: "stream", Method: http.MethodGet, Path: "/v1/stream",
		Summary: "Every change of state, as server-sent events",
		Description: "Events are named transition, shadow (where asked for) and policies, and their data is the " +
			"record of the transitions topic. A reader that is too slow is let go; it comes back with Last-Event-ID " +
			"and loses nothing. An event that comes again has the born and sequence that it had.",
		Errors: []int{http.StatusServiceUnavailable},
		Responses: map[string]*huma.Response{"200": {
			Description: "The stream",
			Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}},
		}},
	}, c.stream)
}

// reading is one reader of the stream.
type reading struct {
	c      *Console
	match  breaker.Glob
	shadow bool
	w      http.ResponseWriter
	flush  *http.ResponseController
}

func (c *Console) stream(ctx context.Context, in *streamInput) (*huma.StreamResponse, error) {
	next, live := c.hub.end()
	if !live {
		return nil, behind(errors.New("the transitions are not followed yet: try again in a moment"))
	}
	var last eventID
	if in.Last == "" {
		in.Last = in.From
	}
	if in.Last != "" {
		var err error
		if last, err = readEventID(in.Last); err != nil {
			return nil, huma.Error422UnprocessableEntity(err.Error())
		}
	}
	select {
	case c.readers <- struct{}{}:
	default:
		c.metrics.let.WithLabelValues(full).Inc()
		return nil, huma.ErrorWithHeaders(huma.Error503ServiceUnavailable(
			fmt.Sprintf("%d others read the stream", mostReaders)), http.Header{"Retry-After": {"5"}})
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer func() { <-c.readers }()
		asked, w := humago.Unwrap(ctx)
		r := &reading{c, breaker.Glob(in.Match), in.Shadow, w, http.NewResponseController(w)}
		h := w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no")
		w.WriteHeader(http.StatusOK)
		if asked.Method == http.MethodHead {
			return
		}
		err := r.text(": fusebox\n\n")
		if err == nil {
			err = r.catchUp(ctx.Context(), last, &next)
		}
		if err == nil {
			err = r.follow(ctx.Context(), next)
		}
		if errors.Is(err, errLost) || errors.Is(err, os.ErrDeadlineExceeded) {
			c.metrics.let.WithLabelValues(tooSlow).Inc()
		}
	}}, nil
}

// catchUp sends what came since the reader was last here, and moves the number of the event to go on with.
func (r *reading) catchUp(ctx context.Context, last eventID, next *int64) error {
	if last == (eventID{}) {
		return nil
	}
	if from, kept := r.c.hub.after(last); kept {
		*next = from
		return nil
	}
	const apart = 5 * time.Second
	since := time.UnixMilli(last.at).Add(-apart)
	if limit := time.Now().Add(-oldest); since.Before(limit) {
		since = limit
	}
	select {
	case r.c.searches <- struct{}{}:
		defer func() { <-r.c.searches }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var failed error
	err := r.c.since(ctx, since, -1, func(events []event) bool {
		if failed = r.send(events); failed == nil && r.c.hasEnded() {
			failed = errEnded
		}
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	return err
}

// Why a reader is let go.
var (
	errLost  = errors.New("slower than all that is kept")
	errEnded = errors.New("nothing is followed any more")
)

// follow sends what comes, until the reader goes, or is slower than all that is kept.
func (r *reading) follow(ctx context.Context, next int64) error {
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	for {
		events, behind, more, ok := r.c.hub.read(next, eventsAtOnce)
		if !ok {
			return errLost
		}
		if err := r.send(events); err != nil {
			return err
		}
		if next = behind; len(events) == eventsAtOnce {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.c.ended:
			return errEnded
		case <-more:
		case <-alive.C:
			if err := r.text(": alive\n\n"); err != nil {
				return err
			}
		}
	}
}

// send writes the events that the reader asks for.
func (r *reading) send(events []event) error {
	var b []byte
	written := 0
	for i := range events {
		e := &events[i]
		if e.kind == shadowEvent && !r.shadow || r.match != "" && e.circuit != "" && !r.match.Matches(e.circuit) {
			continue
		}
		b = fmt.Appendf(b, "id: %s\nevent: %s\ndata: %s\n\n", e.id, e.kind, e.text)
		written++
	}
	if written == 0 {
		return nil
	}
	r.c.metrics.events.Add(float64(written))
	return r.write(b)
}

func (r *reading) text(text string) error { return r.write([]byte(text)) }

// write writes what a reader has to take within its time.
func (r *reading) write(text []byte) error {
	if err := r.flush.SetWriteDeadline(time.Now().Add(takeWithin)); err != nil {
		return err
	}
	if _, err := r.w.Write(text); err != nil {
		return err
	}
	return r.flush.Flush()
}
