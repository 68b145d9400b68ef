package console

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/oklog/ulid/v2"

	"github.com/fusebox-project/fusebox/schemas"
)

// claimWithin is how long a claim waits for its grant.
const claimWithin = 2 * time.Second

// claimInput asks for a probe.
type claimInput struct {
	Name string `path:"name" maxLength:"800" doc:"The circuit's name."`
	Body struct {
		Holder string `json:"holder" minLength:"1" maxLength:"200" doc:"Who asks: the name of a router."`
		Lease  string `json:"lease,omitempty" maxLength:"200" doc:"An id of one's own; chosen where absent."`
	}
}

// grant is a lease.
type grant struct {
	Circuit   string    `json:"circuit"`
	Lease     string    `json:"lease" doc:"Report the outcome with it."`
	Holder    string    `json:"holder"`
	Epoch     int64     `json:"epoch" doc:"Report the outcome with it."`
	ExpiresAt time.Time `json:"expires_at" doc:"What is reported later is no evidence."`
}

type grantOutput struct{ Body grant }

func (c *Console) registerClaims(api huma.API) {
	register(api, huma.Operation{
		OperationID: "claim-probe", Method: http.MethodPost, Path: "/v1/circuits/{name}/claims",
		Summary:  "Ask for a probe, and wait for its lease",
		Security: []map[string][]string{{apiScheme: {}}},
		Errors:   []int{http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable},
	}, c.claim)
}

func (c *Console) claim(ctx context.Context, in *claimInput) (*grantOutput, error) {
	s, err := c.known(in.Name)
	if err != nil {
		return nil, err
	}
	if in.Body.Lease == "" {
		in.Body.Lease = ulid.Make().String()
	}
	now := time.Now()
	if what, retry := s.Admission(now, in.Body.Holder, 0); what != schemas.Probes && !holds(&s, in.Body.Lease) {
		if what == schemas.Admits {
			return nil, huma.Error409Conflict("the circuit is " + s.State.String() + ": calls need no lease")
		}
		return nil, conflict("no probe is due: the circuit is "+s.State.String(), retry.Sub(now))
	}
	claim := schemas.Signal{
		Type: schemas.Claim, Circuit: in.Name, Holder: in.Body.Holder, Lease: in.Body.Lease,
		Epoch: s.Epoch, HasEpoch: true,
	}
	written, err := c.signals(ctx, []schemas.Signal{claim})
	if err != nil {
		return nil, unreached(err)
	}
	s, err = c.await(ctx, written[0], in.Name, claimWithin)
	for _, l := range s.Leases {
		if l.ID == in.Body.Lease && l.Holder == in.Body.Holder {
			return &grantOutput{grant{in.Name, l.ID, l.Holder, s.Epoch, l.ExpiresAt}}, nil
		}
	}
	if err != nil {
		return nil, conflict("the claim is on the log, and "+err.Error()+" that it was granted: "+
			"GET the circuit to see whether it still is", claimWithin)
	}
	_, retry := s.Admission(time.Now(), in.Body.Holder, 0)
	return nil, conflict("somebody else has the lease", time.Until(retry))
}

// holds tells whether a lease is live.
func holds(s *schemas.State, lease string) bool {
	return slices.ContainsFunc(s.Leases, func(l schemas.Lease) bool { return l.ID == lease })
}

// conflict is the answer to a claim that got no lease.
func conflict(why string, retry time.Duration) error {
	seconds := int(math.Ceil(max(retry, time.Second).Seconds()))
	return huma.ErrorWithHeaders(huma.Error409Conflict(why), http.Header{"Retry-After": {strconv.Itoa(seconds)}})
}
