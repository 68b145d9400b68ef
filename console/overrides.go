package console

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/near"
	"github.com/fusebox-project/fusebox/schemas"
)

const answerWithin = 5 * time.Second

// MostOverrides is how many circuits one word of an operator may mean.
const MostOverrides = 1000

// Word is what an operator says.
type Word struct {
	Mode   string `json:"mode" enum:"force_open,force_closed,disable,reset,clear" doc:"What the circuit is to be."`
	Actor  string `json:"actor" minLength:"1" maxLength:"200" doc:"Who says so."`
	Reason string `json:"reason" minLength:"1" maxLength:"256" doc:"Why; routers and operators see it."`
	TTL    string `json:"ttl,omitempty" maxLength:"40" doc:"It ends by itself then, such as 30m. Not for reset, clear."`
}

// overrideInput speaks of one circuit.
type overrideInput struct {
	Name string `path:"name" maxLength:"800" doc:"The circuit's name."`
	Body struct {
		Word
		DryRun bool `json:"dry_run,omitempty" doc:"Only say whether the circuit is known, and what it is now."`
	}
}

// Resolve says what is wrong with the name, beside all else that is.
func (in *overrideInput) Resolve(huma.Context) []error {
	if err := schemas.CheckCircuit(in.Name); err != nil {
		return []error{&huma.ErrorDetail{Message: err.Error(), Location: "path.name", Value: in.Name}}
	}
	return nil
}

// overridesInput speaks of many.
type overridesInput struct {
	Body struct {
		Word
		Match  string `json:"match" minLength:"1" maxLength:"400" doc:"A glob of the circuits that are meant."`
		DryRun bool   `json:"dry_run,omitempty" doc:"Only say which circuits are meant, and what they are now."`
	}
}

// said is what came of a word.
type said struct {
	Meant    []string    `json:"meant" doc:"The circuits that are meant."`
	Circuits []stateJSON `json:"circuits" doc:"Those of them that a processor has answered for, as they are now."`
	Known    bool        `json:"known" doc:"False where nobody had heard of the circuit: the word makes it."`
	Near     []string    `json:"near,omitempty" doc:"Known circuits that may have been meant instead."`
}

type saidOutput struct {
	Status int
	Body   said
}

func (c *Console) registerOverrides(api huma.API) {
	admin := []map[string][]string{{adminScheme: {}}}
	faults := []int{http.StatusServiceUnavailable}
	unanswered := map[string]*huma.Response{"202": {
		Description: "The word is on the log",
		Content: map[string]*huma.MediaType{
			"application/json": {Schema: api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[said](), true, "")},
		},
	}}
	const doc = "200 once a processor has answered; 202 where none has in time: the word is on the log, and takes " +
		"effect when one does."
	register(api, huma.Operation{
		OperationID: "override-circuit", Method: http.MethodPost, Path: "/v1/circuits/{name}/override",
		Summary: "An operator's word on a circuit", Description: doc, Security: admin, Errors: faults,
		Responses: maps.Clone(unanswered),
	}, c.overrideOne)
	register(api, huma.Operation{
		OperationID: "override-circuits", Method: http.MethodPost, Path: "/v1/overrides",
		Summary: "An operator's word on all circuits that a glob means", Description: doc, Security: admin,
		Errors: faults, Responses: maps.Clone(unanswered),
	}, c.overrideMany)
}

func (c *Console) overrideOne(ctx context.Context, in *overrideInput) (*saidOutput, error) {
	_, known, err := c.view.state(in.Name, time.Now())
	switch {
	case err != nil && in.Body.DryRun:
		return nil, behind(err)
	case err != nil: // An operator may be in a hurry.
		return c.say(ctx, []string{in.Name}, in.Body.Word)
	case known && in.Body.DryRun:
		return answer([]string{in.Name}, c.shown([]string{in.Name})), nil
	case known:
		return c.say(ctx, []string{in.Name}, in.Body.Word)
	}
	nearby := c.view.near(in.Name)
	if in.Body.Mode == schemas.Clear.String() {
		return nil, huma.Error404NotFound("circuit " + in.Name + " is not known: there is nothing to clear" +
			near.Question(nearby))
	}
	out := answer([]string{in.Name}, []stateJSON{})
	if !in.Body.DryRun {
		out, err = c.say(ctx, []string{in.Name}, in.Body.Word)
	}
	if err == nil {
		out.Body.Known, out.Body.Near = false, nearby
	}
	return out, err
}

// answer is what is answered where all that is meant is known.
func answer(meant []string, circuits []stateJSON) *saidOutput {
	return &saidOutput{http.StatusOK, said{Meant: meant, Circuits: circuits, Known: true}}
}

func (c *Console) overrideMany(ctx context.Context, in *overridesInput) (*saidOutput, error) {
	names, err := c.view.matching(breaker.Glob(in.Body.Match))
	switch {
	case err != nil:
		return nil, behind(err)
	case len(names) == 0:
		return nil, huma.Error404NotFound("no known circuit matches " + in.Body.Match)
	case len(names) > MostOverrides:
		return nil, huma.Error422UnprocessableEntity(
			fmt.Sprintf("match means %d circuits: say it of at most %d at a time", len(names), MostOverrides))
	case in.Body.DryRun:
		return answer(names, c.shown(names)), nil
	}
	return c.say(ctx, names, in.Body.Word)
}

// shown returns circuits as they are now.
func (c *Console) shown(names []string) []stateJSON {
	now := time.Now()
	all := make([]stateJSON, 0, len(names))
	for _, name := range names {
		if s, known, _ := c.view.state(name, now); known { // One may have been forgotten meanwhile.
			all = append(all, newStateJSON(&s))
		}
	}
	return all
}

// say puts an operator's word on the log for each circuit, and waits for the processors' answers.
func (c *Console) say(ctx context.Context, names []string, w Word) (*saidOutput, error) {
	signal := w.signal()
	now := time.Now()
	signals := make([]schemas.Signal, len(names))
	idle := map[string]bool{} // What has no override to clear: nobody answers for it.
	for i, name := range names {
		signals[i] = signal
		signals[i].Circuit = name
		s, _, _ := c.view.state(name, now)
		idle[name] = signal.Mode == schemas.Clear && s.Override == nil
	}
	written, err := c.signals(ctx, signals)
	if err != nil {
		return nil, unreached(err)
	}
	c.log.Info("an operator speaks over HTTP", "mode", w.Mode, "actor", w.Actor, "circuits", len(names),
		"first", names[0])
	out := answer(names, make([]stateJSON, 0, len(names)))
	deadline := time.Now().Add(answerWithin)
	for i, name := range names {
		if idle[name] {
			out.Body.Circuits = append(out.Body.Circuits, c.shown(names[i:i+1])...)
			continue
		}
		s, err := c.await(ctx, written[i], name, time.Until(deadline))
		if err != nil {
			out.Status = http.StatusAccepted
			continue
		}
		out.Body.Circuits = append(out.Body.Circuits, newStateJSON(&s))
	}
	return out, nil
}

// signal returns the word as it is written, without its circuit.
func (w *Word) signal() schemas.Signal {
	mode, _ := schemas.ModeOf(w.Mode) // The names were checked, and the time.
	ttl, _ := w.ttl()
	return schemas.Signal{Type: schemas.Override, Mode: mode, Actor: w.Actor, Reason: w.Reason, TTL: ttl}
}

// Resolve says what is wrong with a word that its schema does not know, beside all else that is.
func (w *Word) Resolve(_ huma.Context, at *huma.PathBuffer) []error {
	if _, err := w.ttl(); err != nil {
		return []error{&huma.ErrorDetail{Message: err.Error(), Location: at.With("ttl"), Value: w.TTL}}
	}
	return nil
}

// ttl returns after which time the word ends by itself, 0 where it does not.
func (w *Word) ttl() (time.Duration, error) {
	if w.TTL == "" {
		return 0, nil
	}
	ttl, err := time.ParseDuration(w.TTL)
	switch {
	case err != nil || ttl < time.Millisecond:
		return 0, errors.New("want a time such as 30m, of 1ms or more")
	case w.Mode == schemas.Reset.String() || w.Mode == schemas.Clear.String():
		return 0, errors.New(w.Mode + " takes none")
	}
	return ttl, nil
}
