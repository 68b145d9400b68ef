package schemas

func (v *value) phase(p *Phase) error {
	var name string
	if err := v.string(&name); err != nil {
		return err
	}
	known, ok := PhaseOf(name)
	*p = known
	if !ok {
		return v.wrong("must be closed, open, half_open, forced_open, forced_closed or disabled")
	}
	return nil
}

func (s *State) addLease(v *value) error {
	s.Leases = append(s.Leases, Lease{})
	return v.object(s.Leases[len(s.Leases)-1].member)
}

func (l *Lease) member(v *value) error {
	switch v.name {
	case "id":
		return v.string(&l.ID)
	case "holder":
		return v.string(&l.Holder)
	case "expires_at":
		return v.time(&l.ExpiresAt)
	}
	return nil
}

func (p *Probe) member(v *value) error {
	switch v.name {
	case "successes":
		return v.small(&p.Successes)
	case "failures":
		return v.small(&p.Failures)
	case "inconclusive":
		return v.small(&p.Inconclusive)
	case "concurrency":
		return v.small(&p.Concurrency)
	}
	return nil
}

func (s *State) addRampStep(v *value) error {
	s.Ramp = append(s.Ramp, RampStep{})
	return v.object(s.Ramp[len(s.Ramp)-1].member)
}

func (r *RampStep) member(v *value) error {
	switch v.name {
	case "share":
		return v.float(&r.Share)
	case "until":
		return v.time(&r.Until)
	}
	return nil
}

func (o *Operator) member(v *value) error {
	switch v.name {
	case "mode":
		return v.mode(&o.Mode)
	case "actor":
		return v.cut(&o.Actor)
	case "reason":
		return v.cut(&o.Reason)
	}
	return nil
}

func (o *OverrideInForce) member(v *value) error {
	switch v.name {
	case "mode":
		return v.mode(&o.Mode)
	case "actor":
		return v.cut(&o.Actor)
	case "reason":
		return v.cut(&o.Reason)
	case "until":
		return v.time(&o.Until)
	case "then":
		return v.phase(&o.Then)
	}
	return nil
}

// shadow reads what the circuit's shadow has come to, or that this record is a shadow's.
func (v *value) shadow(s *State) error {
	s.Shadow, s.IsShadow = nil, false
	switch v.kind {
	case 't', 'f':
		return v.bool(&s.IsShadow)
	case '{':
		s.Shadow = &Shadow{}
	case 'n':
	default:
		return v.wrongType("an object or true")
	}
	return v.object(s.Shadow.member)
}

func (s *Shadow) member(v *value) error {
	switch v.name {
	case "policy":
		return v.string(&s.Policy)
	case "state":
		return v.phase(&s.State)
	case "epoch":
		return v.whole(&s.Epoch)
	case "since":
		return v.time(&s.Since)
	case "trips":
		return v.whole(&s.Trips)
	case "cause":
		return v.cause(&s.Cause)
	}
	return nil
}

func (t *Trigger) member(v *value) error {
	switch v.name {
	case "topic":
		return v.string(&t.Topic)
	case "partition":
		return v.partition(&t.Partition)
	case "offset":
		return v.offset(&t.Offset)
	}
	return nil
}

func (i *Inputs) member(v *value) error {
	switch v.name {
	case "outcomes":
		return v.offset(&i.Outcomes)
	case "signals":
		return v.offset(&i.Signals)
	}
	return nil
}
