package client_test

import (
	"errors"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestPitfall42RefusedErrorSaysWhy wants the reason in words, whoever refuses.
func TestPitfall42RefusedErrorSaysWhy(t *testing.T) {
	cause := &schemas.Cause{
		Rule: "provider-down", Type: "consecutive", Kind: client.TransportFailure, Observed: 5, Threshold: 5,
		ByKind: map[string]int64{client.TransportFailure: 5},
	}
	word := &schemas.OverrideInForce{Mode: schemas.ForceOpen, Actor: "ann", Reason: "provider incident"}
	const circuit = "extraction:gpt:v4"
	for _, tt := range []struct {
		name string
		err  client.RefusedError
		want string
	}{
		{"open", client.RefusedError{Circuit: circuit, State: schemas.Open, Cause: cause, RetryAfter: 29 * time.Second},
			circuit + " refuses: " + cause.Words() + "; try again in 29s"},
		{"open, for a time that no clock shows", client.RefusedError{
			Circuit: circuit, State: schemas.Open, Cause: cause, RetryAfter: 828*time.Millisecond + 50184,
		}, circuit + " refuses: " + cause.Words() + "; try again in 828ms"},
		{"half open", client.RefusedError{Circuit: circuit, State: schemas.HalfOpen, Cause: cause},
			circuit + " refuses: it is being tested after " + cause.Words()},
		{"forced open", client.RefusedError{Circuit: circuit, State: schemas.ForcedOpen, Override: word},
			circuit + " refuses: ann keeps it open: provider incident"},
		{"ramp", client.RefusedError{Circuit: circuit, Ramp: true, RetryAfter: time.Minute},
			circuit + " refuses: it has just recovered and takes a share of the calls; try again in 1m"},
		{"silence", client.RefusedError{Circuit: circuit, Silence: true},
			circuit + " refuses: no processor was heard of for too long"},
		{"nothing known but the state", client.RefusedError{Circuit: circuit, State: schemas.ForcedOpen},
			circuit + " refuses: it is forced open"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.err.Error(); got != tt.want {
				t.Errorf("Error() = %q, want %q", got, tt.want)
			}
			if !errors.Is(&tt.err, client.ErrRefused) {
				t.Errorf("errors.Is(%v, ErrRefused) = false, want true", &tt.err)
			}
		})
	}
}
