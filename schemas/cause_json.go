package schemas

// AppendCause appends the cause as JSON, in the form that it has in a state, to b and returns the extended buffer. Of
// nil that is null.
func AppendCause(b []byte, c *Cause) []byte {
	w := writer{b}
	w.causeValue(c)
	return w.b
}

// DecodeCause reads what AppendCause wrote of a cause. The error is a *Fault. Nothing of the result lies in text.
func DecodeCause(text []byte) (Cause, error) {
	var c Cause
	r := reader{record: "cause", text: text}
	if err := r.read(MaxState, c.member); err != nil {
		return Cause{}, err
	}
	return c, nil
}

func (w *writer) cause(name string, c *Cause) {
	w.name(name)
	w.causeValue(c)
}

func (w *writer) causeValue(c *Cause) {
	if c == nil {
		w.b = append(w.b, "null"...)
		return
	}
	w.begin('{')
	w.string("rule", c.Rule)
	w.string("type", c.Type)
	w.string("kind", c.Kind)
	w.string("policy", c.Policy)
	w.string("policy_version", c.PolicyVersion)
	if c.Window == 0 {
		w.null("window")
	} else {
		w.string("window", c.Window.String())
	}
	w.intOrNull("last", c.Last)
	w.intOrNull("throughput", c.Throughput)
	w.float("observed", c.Observed)
	w.float("threshold", c.Threshold)
	object(w, "by_kind", c.ByKind, w.plainInt)
	object(w, "weights", c.Weights, w.number)
	w.strings("also_fired", c.AlsoFired)
	w.bool("by_success", c.BySuccess)
	w.time("at", c.At)
	w.time("since", c.Since)
	w.name("evidence")
	w.begin('[')
	for i := range c.Evidence {
		w.comma()
		w.evidence(&c.Evidence[i])
	}
	w.end(']')
	w.name("not_counted")
	w.begin('{')
	w.int("stale", c.NotCounted.Stale)
	w.int("neutral", c.NotCounted.Neutral)
	w.int("duplicate", c.NotCounted.Duplicate)
	w.int("late", c.NotCounted.Late)
	w.end('}')
	w.end('}')
}

func (w *writer) evidence(e *Evidence) {
	w.begin('{')
	w.string("id", e.ID)
	w.string("kind", e.Kind)
	w.string("severity", e.Severity.String())
	w.string("stage", e.Stage)
	w.string("reason_code", e.ReasonCode)
	w.time("time", e.Time)
	w.int("partition", int64(e.Partition))
	w.int("offset", e.Offset)
	w.string("evidence_ref", e.EvidenceRef)
	w.end('}')
}

// cause reads an object into a new cause and null into none.
func (v *value) cause(c **Cause) error {
	*c = nil
	if v.kind == '{' {
		*c = &Cause{}
	}
	return v.object((*c).member)
}

func (c *Cause) member(v *value) error {
	switch v.name {
	case "rule":
		return v.string(&c.Rule)
	case "type":
		return v.string(&c.Type)
	case "kind":
		return v.string(&c.Kind)
	case "policy":
		return v.string(&c.Policy)
	case "policy_version":
		return v.string(&c.PolicyVersion)
	case "window":
		return v.duration(&c.Window)
	case "last":
		return v.whole(&c.Last)
	case "throughput":
		return v.whole(&c.Throughput)
	case "observed":
		return v.float(&c.Observed)
	case "threshold":
		return v.float(&c.Threshold)
	case "by_success":
		return v.bool(&c.BySuccess)
	case "at":
		return v.time(&c.At)
	case "since":
		return v.time(&c.Since)
	}
	return c.part(v)
}

// part reads the members that hold others.
func (c *Cause) part(v *value) error {
	switch v.name {
	case "by_kind":
		c.ByKind = nil
		return v.object(c.addCount)
	case "weights":
		c.Weights = nil
		return v.object(c.addWeight)
	case "also_fired":
		return v.strings(&c.AlsoFired)
	case "evidence":
		c.Evidence = nil
		return v.array(c.addEvidence)
	case "not_counted":
		c.NotCounted = NotCounted{}
		return v.object(c.NotCounted.member)
	}
	return nil
}

func (c *Cause) addCount(v *value) error {
	var n int64
	if err := v.whole(&n); err != nil {
		return err
	}
	if c.ByKind == nil {
		c.ByKind = map[string]int64{}
	}
	c.ByKind[v.key()] = n
	return nil
}

func (c *Cause) addWeight(v *value) error {
	var f float64
	if err := v.float(&f); err != nil {
		return err
	}
	if c.Weights == nil {
		c.Weights = map[string]float64{}
	}
	c.Weights[v.key()] = f
	return nil
}

func (c *Cause) addEvidence(v *value) error {
	c.Evidence = append(c.Evidence, Evidence{})
	return v.object(c.Evidence[len(c.Evidence)-1].member)
}

func (e *Evidence) member(v *value) error {
	switch v.name {
	case "id":
		return v.string(&e.ID)
	case "kind":
		return v.string(&e.Kind)
	case "severity":
		return v.severity(&e.Severity)
	case "stage":
		return v.cut(&e.Stage)
	case "reason_code":
		return v.cut(&e.ReasonCode)
	case "time":
		return v.time(&e.Time)
	case "partition":
		return v.partition(&e.Partition)
	case "offset":
		return v.offset(&e.Offset)
	case "evidence_ref":
		return v.string(&e.EvidenceRef)
	}
	return nil
}

func (n *NotCounted) member(v *value) error {
	switch v.name {
	case "stale":
		return v.whole(&n.Stale)
	case "neutral":
		return v.whole(&n.Neutral)
	case "duplicate":
		return v.whole(&n.Duplicate)
	case "late":
		return v.whole(&n.Late)
	}
	return nil
}
