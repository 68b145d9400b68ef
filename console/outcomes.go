package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

// mostOutcomes is how many outcomes one request may have.
const mostOutcomes = 1000

// outcomesInput has one outcome, or an array.
type outcomesInput struct {
	RawBody []byte
}

// outcomesBody describes the wire's own, alone or many.
func outcomesBody() *huma.RequestBody {
	most := mostOutcomes
	schema := &huma.Schema{OneOf: []*huma.Schema{
		refTo("Outcome"), {Type: huma.TypeArray, Items: refTo("Outcome"), MaxItems: &most},
	}}
	return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
}

// taken is what became of outcomes.
type taken struct {
	Accepted int       `json:"accepted" doc:"So many the brokers have."`
	Refused  []refusal `json:"refused,omitempty" doc:"Those that no processor could read."`
}

// refusal says what is wrong with an outcome.
type refusal struct {
	Index int    `json:"index" doc:"Its place in the array, from 0 on."`
	Error string `json:"error"`
}

type takenOutput struct{ Body taken }

func (c *Console) registerOutcomes(api huma.API) {
	register(api, huma.Operation{
		OperationID: "report-outcomes", Method: http.MethodPost, Path: "/v1/outcomes",
		Summary:     "Report outcomes: one, or an array",
		Description: "Each is checked by itself. Those that can be read are written; the answer names the others.",
		Security:    []map[string][]string{{apiScheme: {}}}, DefaultStatus: http.StatusAccepted,
		SkipValidateBody: true, RequestBody: outcomesBody(),
		Errors: []int{http.StatusServiceUnavailable},
	}, c.reportOutcomes)
}

func (c *Console) reportOutcomes(ctx context.Context, in *outcomesInput) (*takenOutput, error) {
	texts, err := split(in.RawBody)
	if err != nil {
		return nil, huma.Error400BadRequest(err.Error())
	}
	var out taken
	var records []*kgo.Record
	for i, text := range texts {
		var o schemas.Outcome
		if err := schemas.DecodeOutcome(nil, text, &o); err != nil {
			out.Refused = append(out.Refused, refusal{i, err.Error()})
			continue
		}
		records = append(records, &kgo.Record{
			Topic: c.config.Topics.Outcomes, Key: []byte(o.Circuit), Value: bytes.Clone(text),
		})
	}
	if len(records) == 0 {
		faults := make([]error, 0, len(out.Refused))
		for _, r := range out.Refused {
			faults = append(faults, &huma.ErrorDetail{Message: r.Error, Location: fmt.Sprintf("body[%d]", r.Index)})
		}
		return nil, huma.Error422UnprocessableEntity("no outcome could be read", faults...)
	}
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	if err := c.client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return nil, unreached(fmt.Errorf("the brokers may lack some outcomes: send them again, with ids, so that none "+
			"counts twice: %w", err))
	}
	out.Accepted = len(records)
	return &takenOutput{out}, nil
}

// split returns the outcomes of a body.
func split(body []byte) ([]json.RawMessage, error) {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || body[0] != '[' {
		return []json.RawMessage{body}, nil
	}
	var texts []json.RawMessage
	if err := json.Unmarshal(body, &texts); err != nil {
		return nil, fmt.Errorf("the body is no JSON array of outcomes: %w", err)
	}
	if len(texts) == 0 || len(texts) > mostOutcomes {
		return nil, fmt.Errorf("%d outcomes: want 1 to %d", len(texts), mostOutcomes)
	}
	return texts, nil
}
