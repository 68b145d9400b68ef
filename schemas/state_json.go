package schemas

// PhaseOf returns the phase of that name, and whether there is one.
func PhaseOf(name string) (Phase, bool) {
	for _, p := range Phases {
		if name == p.String() {
			return p, true
		}
	}
	return Closed, false
}

// AppendState appends the record of the state topic, which is that of the transitions topic too, as JSON to b and
// returns the extended buffer. The same state gives the same bytes.
func AppendState(b []byte, s *State) []byte {
	w := writer{b}
	w.begin('{')
	w.string("circuit", s.Circuit)
	w.string("state", s.State.String())
	w.string("previous", s.Previous.String())
	w.int("epoch", s.Epoch)
	w.int("sequence", s.Sequence)
	w.time("born", s.Born)
	w.time("changed_at", s.ChangedAt)
	w.time("retry_at", s.RetryAt)
	w.bool("enforced", s.Enforced)
	w.int("attempt", int64(s.Attempt))
	w.cause("cause", s.Cause)
	w.cause("degraded", s.Degraded)
	w.leases(s.Leases)
	w.probe(s.Probe)
	w.ramp(s.Ramp)
	w.override(s.Override)
	w.operator(s.Operator)
	w.string("policy", s.Policy)
	w.string("policy_version", s.PolicyVersion)
	w.trigger(s.Trigger)
	w.inputs("inputs", s.Inputs)
	w.shadow(s)
	if s.Clamped {
		w.bool("clamped", true)
	}
	w.end('}')
	return w.b
}

// shadow writes that this record is a shadow's, or what the circuit's shadow has come to.
func (w *writer) shadow(s *State) {
	if s.IsShadow {
		w.bool("shadow", true)
		return
	}
	if s.Shadow == nil {
		w.null("shadow")
		return
	}
	w.name("shadow")
	w.begin('{')
	w.string("policy", s.Shadow.Policy)
	w.string("state", s.Shadow.State.String())
	w.int("epoch", s.Shadow.Epoch)
	w.time("since", s.Shadow.Since)
	w.int("trips", s.Shadow.Trips)
	w.cause("cause", s.Shadow.Cause)
	w.end('}')
}

func (w *writer) leases(leases []Lease) {
	w.name("leases")
	w.begin('[')
	for _, l := range leases {
		w.comma()
		w.begin('{')
		w.string("id", l.ID)
		w.string("holder", l.Holder)
		w.time("expires_at", l.ExpiresAt)
		w.end('}')
	}
	w.end(']')
}

func (w *writer) probe(p Probe) {
	w.name("probe")
	w.begin('{')
	w.int("successes", int64(p.Successes))
	w.int("failures", int64(p.Failures))
	w.int("inconclusive", int64(p.Inconclusive))
	w.int("concurrency", int64(p.Concurrency))
	w.end('}')
}

func (w *writer) ramp(steps []RampStep) {
	w.name("ramp")
	w.begin('[')
	for _, step := range steps {
		w.comma()
		w.begin('{')
		w.float("share", step.Share)
		w.time("until", step.Until)
		w.end('}')
	}
	w.end(']')
}

// operator is written only where there is one.
func (w *writer) operator(o *Operator) {
	if o == nil {
		return
	}
	w.name("operator")
	w.begin('{')
	w.string("mode", o.Mode.String())
	w.string("actor", o.Actor)
	w.string("reason", o.Reason)
	w.end('}')
}

func (w *writer) override(o *OverrideInForce) {
	if o == nil {
		w.null("override")
		return
	}
	w.name("override")
	w.begin('{')
	w.string("mode", o.Mode.String())
	w.string("actor", o.Actor)
	w.string("reason", o.Reason)
	w.time("until", o.Until)
	w.string("then", o.Then.String())
	w.end('}')
}

func (w *writer) trigger(t Trigger) {
	w.name("trigger")
	w.begin('{')
	w.string("topic", t.Topic)
	w.int("partition", int64(t.Partition))
	w.int("offset", t.Offset)
	w.end('}')
}

func (w *writer) inputs(name string, i Inputs) {
	w.name(name)
	w.begin('{')
	w.int("outcomes", i.Outcomes)
	w.int("signals", i.Signals)
	w.end('}')
}

// DecodeState reads a record of the state topic that is no heartbeat and no policies, or one of the transitions topic
// that TransitionKind calls a StateRecord or a ShadowRecord. The error is a *Fault. Nothing of the result lies in text.
func DecodeState(text []byte) (State, error) {
	var s State
	r := reader{record: "state", text: text}
	named := false
	err := r.read(MaxState, func(v *value) error {
		named = named || v.name == "state"
		return s.member(v)
	})
	if err != nil {
		return State{}, err
	}
	if problem := nameProblem(s.Circuit); problem != "" {
		return State{}, &Fault{Record: r.record, Field: "circuit", Problem: problem}
	}
	if !named {
		return State{}, &Fault{Record: r.record, Field: "state", Problem: "is missing"}
	}
	return s, nil
}

func (s *State) member(v *value) error {
	switch v.name {
	case "circuit":
		return v.string(&s.Circuit)
	case "state":
		return v.phase(&s.State)
	case "previous":
		return v.phase(&s.Previous)
	case "epoch":
		return v.whole(&s.Epoch)
	case "sequence":
		return v.whole(&s.Sequence)
	case "born":
		return v.time(&s.Born)
	case "changed_at":
		return v.time(&s.ChangedAt)
	case "retry_at":
		return v.time(&s.RetryAt)
	case "enforced":
		return v.bool(&s.Enforced)
	case "attempt":
		return v.small(&s.Attempt)
	case "leases":
		s.Leases = nil
		return v.array(s.addLease)
	case "probe":
		s.Probe = Probe{}
		return v.object(s.Probe.member)
	case "ramp":
		s.Ramp = nil
		return v.array(s.addRampStep)
	case "clamped":
		return v.bool(&s.Clamped)
	}
	return s.circumstance(v)
}

// circumstance reads why the state is what it is, and by whom.
func (s *State) circumstance(v *value) error {
	switch v.name {
	case "cause":
		return v.cause(&s.Cause)
	case "degraded":
		return v.cause(&s.Degraded)
	case "override":
		s.Override = nil
		if v.kind == '{' {
			s.Override = &OverrideInForce{}
		}
		return v.object(s.Override.member)
	case "operator":
		s.Operator = nil
		if v.kind == '{' {
			s.Operator = &Operator{}
		}
		return v.object(s.Operator.member)
	case "policy":
		return v.string(&s.Policy)
	case "policy_version":
		return v.string(&s.PolicyVersion)
	case "trigger":
		s.Trigger = Trigger{}
		return v.object(s.Trigger.member)
	case "inputs":
		s.Inputs = Inputs{}
		return v.object(s.Inputs.member)
	case "shadow":
		return v.shadow(s)
	}
	return nil
}
