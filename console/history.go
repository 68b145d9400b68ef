package console

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/internal/offsets"
)

// searchWithin is how long a search of the transitions topic may take. What it has found by then is the answer.
const searchWithin = 8 * time.Second

// historyInput asks for what a circuit did.
type historyInput struct {
	Name   string    `path:"name" maxLength:"800" doc:"The circuit's name."`
	Since  time.Time `query:"since" doc:"No older ones; a day ago where absent."`
	Limit  int       `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"So many of the newest at most."`
	Shadow bool      `query:"shadow" doc:"With the transitions of the circuit's shadow."`
}

// history is what a circuit did.
type history struct {
	Transitions []stateJSON `json:"transitions" doc:"Newest first."`
	Since       time.Time   `json:"since" doc:"All that there were since then, up to the limit."`
	Complete    bool        `json:"complete" doc:"False where time was over first: the newest may be missing."`
}

type historyOutput struct{ Body history }

func (c *Console) registerHistory(api huma.API) {
	register(api, huma.Operation{
		OperationID: "list-transitions", Method: http.MethodGet, Path: "/v1/circuits/{name}/transitions",
		Summary: "What a circuit did", Errors: []int{http.StatusServiceUnavailable},
	}, c.listTransitions)
}

func (c *Console) listTransitions(ctx context.Context, in *historyInput) (*historyOutput, error) {
	if in.Since.IsZero() {
		in.Since = time.Now().Add(-24 * time.Hour)
	}
	found, complete, err := c.history(ctx, in.Name, in.Since, in.Limit, in.Shadow)
	if err != nil {
		return nil, unreached(err)
	}
	since := in.Since.UTC().Truncate(time.Millisecond)
	out := &historyOutput{Body: history{Transitions: []stateJSON{}, Since: since, Complete: complete}}
	for _, e := range slices.Backward(found) {
		out.Body.Transitions = append(out.Body.Transitions, e.text)
	}
	return out, nil
}

// history returns what a circuit did since a time, oldest first, and of that the newest so many. It reports false where
// the time was over before all was read.
func (c *Console) history(ctx context.Context, circuit string, since time.Time, limit int, shadow bool) (
	found []event, complete bool, err error,
) {
	ctx, cancel := context.WithTimeout(ctx, searchWithin)
	defer cancel()
	select {
	case c.searches <- struct{}{}:
		defer func() { <-c.searches }()
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	err = c.since(ctx, since, c.home(ctx, circuit), func(events []event) bool {
		for _, e := range events {
			if e.circuit == circuit && (e.kind == transitionEvent || shadow && e.kind == shadowEvent) {
				found = append(found, e)
			}
		}
		found = found[max(0, len(found)-limit):]
		return true
	})
	if err != nil && ctx.Err() != nil && len(found) > 0 {
		return found, false, nil
	}
	return found, err == nil, err
}

// home returns the partition where a circuit's records are, -1 where that is not known.
func (c *Console) home(ctx context.Context, circuit string) int32 {
	ends, err := offsets.Committed(ctx, kadm.NewClient(c.client), c.config.Topics.Transitions)
	if err != nil || len(ends) == 0 {
		return -1
	}
	hash := kgo.StickyKeyPartitioner(nil).ForTopic("")
	return int32(hash.Partition(&kgo.Record{Key: []byte(circuit)}, len(ends)))
}
