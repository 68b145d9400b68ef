package console

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/processor/kafka"
	"github.com/fusebox-project/fusebox/processor/near"
	"github.com/fusebox-project/fusebox/schemas"
)

// listInput asks for circuits.
type listInput struct {
	State  []string `query:"state" maxItems:"6" enum:"closed,open,half_open,forced_open,forced_closed,disabled"`
	Match  string   `query:"match" maxLength:"400" doc:"A glob: * is any run of characters, ? is one."`
	Order  string   `query:"order" enum:"name,worst" default:"name" doc:"Cursors are of the order by name alone."`
	Limit  int      `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"How many circuits at most."`
	Cursor string   `query:"cursor" maxLength:"400" doc:"The next_cursor of the page before."`
}

// list is a page of circuits.
type list struct {
	Circuits   []stateJSON    `json:"circuits" doc:"As they are now: leases and overrides that are over are gone."`
	NextCursor string         `json:"next_cursor,omitempty" doc:"Where the next page begins; absent with the last one."`
	Counts     map[string]int `json:"counts" doc:"All circuits, by state."`
}

type listOutput struct{ Body list }

// circuitInput names a circuit.
type circuitInput struct {
	Name string `path:"name" maxLength:"800" doc:"The circuit's name."`
	ETag string `header:"If-None-Match" doc:"An ETag that is at hand: 304 where nothing has changed."`
}

// circuitOutput is one circuit, whose body is JSON already: it is the one that is asked for most.
type circuitOutput struct {
	ETag string `header:"ETag"`
	Type string `header:"Content-Type"`
	Body []byte
}

func (c *Console) registerCircuits(api huma.API) {
	register(api, huma.Operation{
		OperationID: "list-circuits", Method: http.MethodGet, Path: "/v1/circuits",
		Summary: "The circuits and their states", Errors: []int{http.StatusServiceUnavailable},
	}, c.listCircuits)
	register(api, huma.Operation{
		OperationID: "get-circuit", Method: http.MethodGet, Path: "/v1/circuits/{name}",
		Summary: "One circuit, with what its windows hold where this instance works on it",
		Errors:  []int{http.StatusNotFound, http.StatusServiceUnavailable},
		Responses: map[string]*huma.Response{
			"200": {Content: map[string]*huma.MediaType{
				"application/json": {Schema: circuitSchema(api.OpenAPI().Components.Schemas)},
			}},
			"304": {Description: "Nothing has changed since the ETag"},
		},
	}, c.getCircuit)
}

func (c *Console) listCircuits(_ context.Context, in *listInput) (*listOutput, error) {
	q := query{match: breaker.Glob(in.Match), limit: in.Limit, worst: in.Order == "worst"}
	for _, name := range in.State {
		phase, _ := schemas.PhaseOf(name) // The names were checked.
		q.states = append(q.states, phase)
	}
	if in.Cursor != "" {
		after, err := base64.RawURLEncoding.DecodeString(in.Cursor)
		if err != nil || q.worst {
			return nil, huma.Error422UnprocessableEntity("cursor: want the next_cursor of a page in the order of names")
		}
		q.after = string(after)
	}
	now := time.Now()
	states, more, err := c.view.page(q, now)
	if err != nil {
		return nil, behind(err)
	}
	out := &listOutput{Body: list{Circuits: make([]stateJSON, 0, len(states)), Counts: map[string]int{}}}
	for i := range states {
		out.Body.Circuits = append(out.Body.Circuits, newStateJSON(&states[i]))
	}
	if more && !q.worst {
		out.Body.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(states[len(states)-1].Circuit))
	}
	counts, _ := c.view.counts("", now)
	for phase, n := range counts {
		out.Body.Counts[phase.String()] = n
	}
	return out, nil
}

// behind is the answer while the state topic is still being read.
func behind(err error) error {
	return huma.ErrorWithHeaders(huma.Error503ServiceUnavailable(err.Error()), http.Header{"Retry-After": {"1"}})
}

// known returns a circuit as it is now, or the answer that nobody has heard of it, with those that may be meant.
func (c *Console) known(name string) (schemas.State, error) {
	s, known, err := c.view.state(name, time.Now())
	switch {
	case err != nil:
		return s, behind(err)
	case !known:
		return s, huma.Error404NotFound("circuit " + name + " is not known: it is closed at epoch 0" +
			near.Question(c.view.near(name)))
	}
	return s, nil
}

func (c *Console) getCircuit(ctx context.Context, in *circuitInput) (*circuitOutput, error) {
	s, err := c.known(in.Name)
	if err != nil {
		return nil, err
	}
	body, tag := circuitBody(newStateJSON(&s), c.look(ctx, in.Name))
	if in.ETag == tag {
		return nil, huma.Status304NotModified()
	}
	return &circuitOutput{tag, "application/json", body}, nil
}

// look returns what a circuit's windows hold now, or why that is not known here.
func (c *Console) look(ctx context.Context, name string) live {
	found, partition, err := c.config.Loop.Look(ctx, name)
	switch {
	case err == nil:
		return newLive(c.config.Instance, partition, &found)
	case errors.Is(err, kafka.ErrElsewhere):
		l := live{Partition: partition, Missing: "this instance does not work on the circuit's partition"}
		if h, ok := c.view.beat(partition); ok && h.Instance != c.config.Instance {
			l.Instance, l.Missing = h.Instance, "instance "+h.Instance+" works on the circuit's partition: ask there"
		}
		return l
	case errors.Is(err, kafka.ErrUnknownCircuit):
		return live{Partition: partition, Instance: c.config.Instance, Missing: "no outcome of it has come yet"}
	}
	return live{Partition: partition, Instance: c.config.Instance, Missing: err.Error()}
}

// live is what a circuit's windows hold.
type live struct {
	Owned     bool   `json:"owned" doc:"This instance works on the circuit's partition, and so knows its windows."`
	Partition int32  `json:"partition"`
	Instance  string `json:"instance,omitempty" doc:"The instance that works on the partition."`
	Missing   string `json:"missing,omitempty" doc:"Why the rest is not known here."`

	At            *time.Time `json:"at,omitempty" doc:"The windows are as of then."`
	PolicyVersion string     `json:"policy_version,omitempty"`
	Window        string     `json:"window,omitempty" doc:"The policy's longest: points and ratios are of it."`
	Last          int64      `json:"last,omitempty" doc:"The same, where it is one of the last so many outcomes."`
	Acceptance    *float64   `json:"acceptance,omitempty" doc:"Share of the evidence that was accepted."`
	Availability  *float64   `json:"availability,omitempty" doc:"Share of the evidence that is no transport_failure."`
	Rules         []liveRule `json:"rules,omitempty"`
	Points        []point    `json:"points,omitempty" doc:"What the window holds, oldest first."`
}

// liveRule is what a rule compares now.
type liveRule struct {
	Name       string  `json:"name"`
	Type       string  `json:"type"`
	Action     string  `json:"action" enum:"open,degrade"`
	Window     string  `json:"window,omitempty"`
	Last       int64   `json:"last,omitempty"`
	Observed   float64 `json:"observed"`
	Threshold  float64 `json:"threshold"`
	Throughput int64   `json:"throughput"`
	Minimum    int64   `json:"minimum_throughput,omitempty"`
	Fires      bool    `json:"fires" doc:"It would, at an outcome that changes nothing."`
}

// point is a number of outcomes of one kind.
type point struct {
	At    time.Time `json:"at"`
	Kind  string    `json:"kind"`
	Role  string    `json:"role" enum:"success,failure,neutral"`
	Count int64     `json:"count"`
}

func newLive(instance string, partition int32, found *processor.Look) live {
	at := found.At.UTC().Truncate(time.Millisecond)
	l := live{
		Owned: true, Partition: partition, Instance: instance, At: &at, PolicyVersion: found.PolicyVersion,
		Last: found.Last,
	}
	if found.Window > 0 {
		l.Window = schemas.Brief(found.Window)
	}
	if found.Measured {
		l.Acceptance, l.Availability = &found.Acceptance, &found.Availability
	}
	for _, r := range found.Rules {
		rule := liveRule{
			Name: r.Rule.Name, Type: r.Rule.Type.String(), Action: "open", Last: r.Rule.Last, Observed: r.Observed,
			Threshold: r.Threshold, Throughput: r.Throughput, Minimum: r.Rule.MinimumThroughput, Fires: r.Fires,
		}
		if r.Rule.Degrade {
			rule.Action = "degrade"
		}
		if r.Rule.Window > 0 {
			rule.Window = schemas.Brief(r.Rule.Window)
		}
		l.Rules = append(l.Rules, rule)
	}
	for _, p := range found.Points {
		l.Points = append(l.Points, point{p.At.UTC().Truncate(time.Millisecond), p.Kind, p.Role.String(), p.Count})
	}
	return l
}
