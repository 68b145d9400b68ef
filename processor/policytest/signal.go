package policytest

import (
	"errors"
	"strconv"
	"strings"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
	"go.yaml.in/yaml/v4"
)

// someone stands for a holder, an actor and a reason that a test leaves out.
const someone = "test"

// modes are the modes of an override.
var modes = []string{"force_open", "force_closed", "disable", "reset", "clear"}

// signal reads a claim, a release or an override, and sends it through the wire, which refuses what it would refuse of
// a record.
func (r *reader) signal(key string, n *yaml.Node, circuit string) *schemas.Signal {
	s := &schemas.Signal{Circuit: circuit}
	before := len(r.faults)
	switch key {
	case "claim":
		r.claim(n, s)
	case "release":
		s.Type = schemas.Release
		fields := r.fields(n, "a release", "lease", "unused")
		s.Lease = r.text(fields["lease"], "lease", "")
		if unused := fields["unused"]; unused != nil && !isNull(unused) {
			s.Unused = r.flag(unused, "unused")
		}
	case "override":
		r.override(n, s)
	}
	if circuit == "" || len(r.faults) > before {
		return s
	}
	sent, err := schemas.DecodeSignal(nil, schemas.AppendSignal(nil, s))
	var fault *schemas.Fault
	if errors.As(err, &fault) {
		r.fault(at(n, fault.Field), "%v", fault)
		return s
	}
	return &sent
}

func (r *reader) claim(n *yaml.Node, s *schemas.Signal) {
	s.Type = schemas.Claim
	fields := r.fields(n, "a claim", "holder", "lease", "epoch")
	s.Holder, s.Lease = r.text(fields["holder"], "holder", someone), r.text(fields["lease"], "lease", "")
	if e := fields["epoch"]; e != nil && !isNull(e) {
		epoch, err := strconv.ParseInt(e.Value, 10, 64)
		if err != nil || epoch < 0 {
			r.fault(e, "epoch is %q; write a whole number", e.Value)
		}
		s.Epoch, s.HasEpoch = epoch, true
	}
}

func (r *reader) override(n *yaml.Node, s *schemas.Signal) {
	s.Type = schemas.Override
	fields := r.fields(n, "an override", "mode", "actor", "reason", "ttl")
	s.Actor, s.Reason = r.text(fields["actor"], "actor", someone), r.text(fields["reason"], "reason", someone)
	if word := r.text(fields["mode"], "mode", ""); word != "" {
		mode, ok := schemas.ModeOf(word)
		if best := breaker.Nearest(word, modes); !ok && best != "" {
			r.fault(fields["mode"], "mode is %q; did you mean %q?", word, best)
		} else if !ok {
			r.fault(fields["mode"], "mode is %q; write one of %s", word, strings.Join(modes, ", "))
		}
		s.Mode = mode
	}
	if ttl := fields["ttl"]; ttl != nil && !isNull(ttl) {
		if s.TTL = r.duration(ttl, "ttl"); s.TTL < 0 {
			r.fault(ttl, "ttl is %v; write a duration that is not negative", s.TTL)
		}
	}
}
