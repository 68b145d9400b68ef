package schemas

// AppendHeartbeat appends the heartbeat as JSON to b and returns the extended buffer.
func AppendHeartbeat(b []byte, h *Heartbeat) []byte {
	w := writer{b}
	w.begin('{')
	w.int("partition", int64(h.Partition))
	w.time("at", h.At)
	w.int("watermark", h.Watermark)
	w.int("lag", h.Lag)
	w.string("instance", h.Instance)
	w.end('}')
	return w.b
}

// DecodeHeartbeat reads a record of the state topic whose key begins with HeartbeatKeyPrefix. The error is a *Fault.
func DecodeHeartbeat(text []byte) (Heartbeat, error) {
	var h Heartbeat
	r := reader{record: "heartbeat", text: text}
	if err := r.read(MaxState, h.member); err != nil {
		return Heartbeat{}, err
	}
	if h.At.IsZero() {
		return Heartbeat{}, &Fault{Record: r.record, Field: "at", Problem: "is missing"}
	}
	return h, nil
}

func (h *Heartbeat) member(v *value) error {
	switch v.name {
	case "partition":
		return v.partition(&h.Partition)
	case "at":
		return v.time(&h.At)
	case "watermark":
		return v.offset(&h.Watermark)
	case "lag":
		return v.offset(&h.Lag)
	case "instance":
		return v.string(&h.Instance)
	}
	return nil
}

// AppendPolicies appends the policies in force as JSON to b and returns the extended buffer.
func AppendPolicies(b []byte, p *PoliciesInForce) []byte {
	w := writer{b}
	w.begin('{')
	w.policies(p)
	w.string("text", p.Text)
	w.end('}')
	return w.b
}

// DecodePolicies reads the record of the state topic with the key PoliciesKey. The error is a *Fault.
func DecodePolicies(text []byte) (PoliciesInForce, error) {
	var p PoliciesInForce
	r := reader{record: "policies", text: text}
	if err := r.read(MaxState, p.member); err != nil {
		return PoliciesInForce{}, err
	}
	if p.Version == "" {
		return PoliciesInForce{}, &Fault{Record: r.record, Field: "version", Problem: "is missing"}
	}
	return p, nil
}

// policies appends all but the text.
func (w *writer) policies(p *PoliciesInForce) {
	w.string("version", p.Version)
	w.name("routes")
	w.begin('[')
	for i := range p.Routes {
		route := &p.Routes[i]
		w.comma()
		w.begin('{')
		w.string("use_case", route.UseCase)
		w.strings("chain", route.Chain)
		w.string("otherwise", route.Otherwise)
		object(w, "by_cause", route.ByCause, w.stringList)
		w.end('}')
	}
	w.end(']')
	w.string("instance", p.Instance)
	w.time("since", p.Since)
}

func (p *PoliciesInForce) member(v *value) error {
	switch v.name {
	case "version":
		return v.string(&p.Version)
	case "routes":
		p.Routes = nil
		return v.array(p.addRoute)
	case "text":
		return v.string(&p.Text)
	case "instance":
		return v.string(&p.Instance)
	case "since":
		return v.time(&p.Since)
	}
	return nil
}

func (p *PoliciesInForce) addRoute(v *value) error {
	p.Routes = append(p.Routes, Route{})
	return v.object(p.Routes[len(p.Routes)-1].member)
}

func (r *Route) member(v *value) error {
	switch v.name {
	case "use_case":
		return v.string(&r.UseCase)
	case "chain":
		return v.strings(&r.Chain)
	case "otherwise":
		return v.string(&r.Otherwise)
	case "by_cause":
		r.ByCause = nil
		return v.object(r.addCause)
	}
	return nil
}

func (r *Route) addCause(v *value) error {
	kind, chain := v.key(), []string(nil)
	if err := v.strings(&chain); err != nil {
		return err
	}
	if r.ByCause == nil {
		r.ByCause = map[string][]string{}
	}
	r.ByCause[kind] = chain
	return nil
}
