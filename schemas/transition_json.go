package schemas

// TransitionType tells apart the records of the transitions topic.
type TransitionType uint8

// Records of the transitions topic. Readers skip an OtherRecord: a later version may write more.
const (
	OtherRecord TransitionType = iota
	StateRecord
	SwitchRecord
	ShadowRecord  // A transition of a circuit's shadow: to a reader of what circuits do it is nothing.
	HandledRecord // How far both inputs were handled at some time: an audit goes by it.
)

// TransitionKind tells what DecodeState, DecodeSwitch and DecodeHandled read. The error is a *Fault.
func TransitionKind(text []byte) (TransitionType, error) {
	kind, isShadow := OtherRecord, false
	r := reader{record: "transition", text: text}
	err := r.read(MaxState, func(v *value) error {
		switch v.name {
		case "circuit":
			kind = StateRecord
		case "policies":
			kind = SwitchRecord
		case "handled":
			kind = HandledRecord
		case "shadow":
			isShadow = v.kind == 't'
		}
		return nil
	})
	if kind == StateRecord && isShadow {
		kind = ShadowRecord
	}
	return kind, err
}

// AppendSwitch appends the record of the transitions topic that says that policies changed, as JSON to b and returns
// the extended buffer.
func AppendSwitch(b []byte, s *PolicySwitch) []byte {
	w := writer{b}
	w.begin('{')
	w.name("policies")
	w.begin('{')
	w.policies(&s.Policies)
	w.end('}')
	w.string("text", s.Policies.Text)
	w.inputs("inputs", s.Inputs)
	w.end('}')
	return w.b
}

// DecodeSwitch reads a record of the transitions topic that TransitionKind calls a SwitchRecord. The error is a *Fault.
func DecodeSwitch(text []byte) (PolicySwitch, error) {
	var s PolicySwitch
	r := reader{record: "policy switch", text: text}
	if err := r.read(MaxState, s.member); err != nil {
		return PolicySwitch{}, err
	}
	if s.Policies.Version == "" {
		return PolicySwitch{}, &Fault{Record: r.record, Field: "policies.version", Problem: "is missing"}
	}
	return s, nil
}

func (s *PolicySwitch) member(v *value) error {
	switch v.name {
	case "policies":
		s.Policies = PoliciesInForce{Text: s.Policies.Text}
		return v.object(s.Policies.member)
	case "text":
		return v.string(&s.Policies.Text)
	case "inputs":
		s.Inputs = Inputs{}
		return v.object(s.Inputs.member)
	}
	return nil
}

// AppendHandled appends the record of the transitions topic that says that all below these offsets was handled before
// anything else, as JSON to b and returns the extended buffer.
func AppendHandled(b []byte, below *Inputs) []byte {
	w := writer{b}
	w.begin('{')
	w.inputs("handled", *below)
	w.end('}')
	return w.b
}

// DecodeHandled reads a record of the transitions topic that TransitionKind calls a HandledRecord. The error is a
// *Fault.
func DecodeHandled(text []byte) (below Inputs, err error) {
	r := reader{record: "handled", text: text}
	err = r.read(MaxState, func(v *value) error {
		if v.name != "handled" {
			return nil
		}
		below = Inputs{}
		return v.object(below.member)
	})
	return below, err
}
