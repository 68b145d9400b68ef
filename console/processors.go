package console

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/fusebox-project/fusebox/processor/kafka"
	"github.com/fusebox-project/fusebox/schemas"
)

// partition is what is known of one partition.
type partition struct {
	Partition int32     `json:"partition"`
	Instance  string    `json:"instance" doc:"Which was last heard of."`
	At        time.Time `json:"at" doc:"When."`
	Lag       int64     `json:"lag" doc:"Outcomes that waited then."`
	Silent    bool      `json:"silent" doc:"That is more than 30 seconds ago: nothing is counted there."`
}

// processors is what is known of all instances.
type processors struct {
	Instance      string                  `json:"instance" doc:"Who answers."`
	Version       string                  `json:"version"`
	Ready         bool                    `json:"ready"`
	Missing       []string                `json:"missing,omitempty" doc:"What keeps this instance from being ready."`
	Degraded      []string                `json:"degraded,omitempty"`
	Refused       *kafka.RefusedFile      `json:"refused,omitempty" doc:"The policy file, where it is wrong."`
	Own           []kafka.PartitionReport `json:"own" doc:"The partitions of this instance."`
	Partitions    []partition             `json:"partitions" doc:"All partitions that were heard of."`
	PolicyVersion string                  `json:"policy_version,omitempty" doc:"Last put in force, in partition 0."`
}

type processorsOutput struct{ Body processors }

// silentAfter is how long a partition may say nothing: six heartbeats.
const silentAfter = 30 * time.Second

func (c *Console) registerProcessors(api huma.API) {
	register(api, huma.Operation{
		OperationID: "get-processors", Method: http.MethodGet, Path: "/v1/processors",
		Summary: "The instances and their partitions",
	}, func(context.Context, *policiesInput) (*processorsOutput, error) {
		return &processorsOutput{c.processors(time.Now())}, nil
	})
	register(api, huma.Operation{
		OperationID: "get-policies", Method: http.MethodGet, Path: "/v1/policies",
		Summary: "The policies in force, with their text", Errors: []int{http.StatusNotFound},
	}, func(context.Context, *policiesInput) (*policiesOutput, error) {
		p := c.view.inForce()
		if p == nil {
			return nil, huma.Error404NotFound("no processor has published policies yet")
		}
		return &policiesOutput{newPoliciesBody(p, c.config.Loop.Ready().Refused)}, nil
	})
}

func (c *Console) processors(now time.Time) processors {
	report := c.config.Loop.Ready()
	all := processors{
		Instance: c.config.Instance, Version: c.config.Version, Ready: report.Ready, Missing: report.Missing,
		Degraded: report.Degraded, Refused: report.Refused,
		Own:        append([]kafka.PartitionReport{}, report.Partitions...),
		Partitions: []partition{},
	}
	for _, h := range c.view.beats() {
		all.Partitions = append(all.Partitions, partition{
			h.Partition, h.Instance, h.At, h.Lag, now.Sub(h.At) > silentAfter,
		})
	}
	if p := c.view.inForce(); p != nil {
		all.PolicyVersion = p.Version
	}
	return all
}

// policiesInput has nothing to say.
type policiesInput struct{}

type policiesOutput struct{ Body policiesBody }

// policiesBody is the record of the policies in force, as JSON, with why the file is not where it is not.
type policiesBody []byte

func newPoliciesBody(p *schemas.PoliciesInForce, refused *kafka.RefusedFile) policiesBody {
	body := schemas.AppendPolicies(nil, p)
	if refused == nil {
		return body
	}
	text, err := json.Marshal(refused)
	if err != nil {
		panic("console: why policies were refused as JSON: " + err.Error())
	}
	body = append(body[:len(body)-1], `,"refused":`...)
	return append(append(body, text...), '}')
}

// MarshalJSON returns the body.
func (p policiesBody) MarshalJSON() ([]byte, error) { return p, nil }

// Schema returns the wire's own, with what this instance adds.
func (policiesBody) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{AllOf: []*huma.Schema{refTo("PoliciesInForce"), {
		Type: huma.TypeObject,
		Properties: map[string]*huma.Schema{
			"refused": huma.SchemaFromType(r, reflect.TypeFor[kafka.RefusedFile]()),
		},
	}}}
}
