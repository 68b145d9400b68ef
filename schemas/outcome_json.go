package schemas

import "time"

// DecodeOutcome reads a record of the outcomes topic into *o, which it overwrites whole; after an error what is in it
// means nothing. Where the value names no circuit the key does. The error is a *Fault.
//
// The strings of *o may lie in key and value, which must not change while they are in use; whoever keeps one beyond
// that clones it. The names of the nine kinds are constants.
//
// Of what is not as it should be, this much is mended: an unknown severity is normal, an unknown evaluator type llm;
// reason, reason_code, stage and source lose control characters and what is beyond MaxText bytes, and what is not UTF-8
// in them and in the kind is replaced. A fraction of a millisecond is rounded. Null, and an empty string, are absent.
func DecodeOutcome(key, value []byte, o *Outcome) error {
	*o = Outcome{Count: 1}
	o.reader = reader{record: outcomeRecord, text: value, alias: true}
	err := o.reader.read(MaxRecord, o.member)
	o.reader = reader{}
	if err != nil {
		return err
	}
	if o.Kind == "" {
		return &Fault{Record: outcomeRecord, Field: "kind", Problem: "is missing"}
	}
	o.Circuit, err = circuitOf(outcomeRecord, o.Circuit, view(key))
	return err
}

const outcomeRecord = "outcome"

// circuitOf returns the circuit that the value names, or else the key.
func circuitOf(record, circuit, key string) (string, error) {
	where := "circuit"
	if circuit == "" && key != "" {
		circuit, where = key, "key"
	}
	if problem := nameProblem(circuit); problem != "" {
		return "", &Fault{Record: record, Field: where, Problem: problem}
	}
	return circuit, nil
}

func (o *Outcome) member(v *value) error {
	switch v.name {
	case "id":
		return v.string(&o.ID)
	case "circuit":
		return v.string(&o.Circuit)
	case "kind":
		return v.outcomeKind(&o.Kind)
	case "severity":
		return v.severity(&o.Severity)
	case "reason_code":
		return v.cut(&o.ReasonCode)
	case "reason":
		return v.cut(&o.Reason)
	case "time":
		return v.time(&o.Time)
	case "latency_ms":
		return v.rounded(&o.LatencyMS, "milliseconds")
	case "input_tokens":
		return v.whole(&o.InputTokens)
	case "output_tokens":
		return v.whole(&o.OutputTokens)
	case "cost_usd":
		return v.micros(&o.CostMicros)
	case "retry_after_ms":
		return v.rounded(&o.RetryAfterMS, "milliseconds")
	case "evaluator":
		o.Evaluator = Evaluator{}
		return v.object(o.Evaluator.member)
	case "stage":
		return v.cut(&o.Stage)
	case "epoch":
		o.HasEpoch = v.kind != 'n'
		return v.whole(&o.Epoch)
	case "lease":
		return v.string(&o.Lease)
	case "source":
		return v.cut(&o.Source)
	case "count":
		return v.count(&o.Count)
	}
	return o.label(v)
}

// label reads what only tells the outcome's origin.
func (o *Outcome) label(v *value) error {
	switch v.name {
	case "use_case":
		return v.string(&o.UseCase)
	case "route":
		return v.string(&o.Route)
	case "version":
		return v.string(&o.Version)
	case "tenant":
		return v.string(&o.Tenant)
	case "provider":
		return v.string(&o.Provider)
	case "model":
		return v.string(&o.Model)
	case "fallback_from":
		return v.string(&o.FallbackFrom)
	case "evidence_ref":
		return v.string(&o.EvidenceRef)
	case "trace_id":
		return v.string(&o.TraceID)
	}
	return nil
}

func (e *Evaluator) member(v *value) error {
	switch v.name {
	case "name":
		return v.string(&e.Name)
	case "version":
		return v.string(&e.Version)
	case "type":
		var name string
		_, err := v.anyString(&name)
		e.Type, _ = EvaluatorTypeOf(name)
		return err
	}
	return nil
}

func (v *value) outcomeKind(kind *string) error {
	var name string
	_, err := v.anyString(&name)
	*kind = kindOf(name)
	return err
}

func (v *value) severity(s *Severity) error {
	var name string
	_, err := v.anyString(&name)
	*s, _ = SeverityOf(name)
	return err
}

func (v *value) count(n *int64) error {
	if err := v.whole(n); err != nil {
		return err
	}
	if v.kind == 'n' {
		*n = 1
	}
	if *n < 1 {
		return v.wrong("must be at least 1")
	}
	return nil
}

// AppendOutcome appends the outcome as JSON to b and returns the extended buffer. What has its default is left out.
func AppendOutcome(b []byte, o *Outcome) []byte {
	w := writer{b}
	w.begin('{')
	w.optional("id", o.ID)
	w.optional("circuit", o.Circuit)
	w.string("kind", o.Kind)
	if o.Severity != Normal {
		w.string("severity", o.Severity.String())
	}
	w.optional("reason_code", o.ReasonCode)
	w.optional("reason", o.Reason)
	if !o.Time.IsZero() {
		w.time("time", o.Time.Round(time.Millisecond))
	}
	w.optionalInt("latency_ms", o.LatencyMS)
	w.optionalInt("input_tokens", o.InputTokens)
	w.optionalInt("output_tokens", o.OutputTokens)
	if o.CostMicros != 0 {
		w.micros("cost_usd", o.CostMicros)
	}
	w.optionalInt("retry_after_ms", o.RetryAfterMS)
	w.labels(o)
	w.optional("stage", o.Stage)
	if o.HasEpoch {
		w.int("epoch", o.Epoch)
	}
	w.optional("lease", o.Lease)
	w.optional("source", o.Source)
	if o.Count > 1 {
		w.int("count", o.Count)
	}
	w.optional("evidence_ref", o.EvidenceRef)
	w.optional("trace_id", o.TraceID)
	w.end('}')
	return w.b
}

func (w *writer) labels(o *Outcome) {
	w.optional("use_case", o.UseCase)
	w.optional("route", o.Route)
	w.optional("version", o.Version)
	w.optional("tenant", o.Tenant)
	w.optional("provider", o.Provider)
	w.optional("model", o.Model)
	w.optional("fallback_from", o.FallbackFrom)
	if o.Evaluator == (Evaluator{}) {
		return
	}
	w.name("evaluator")
	w.begin('{')
	w.optional("name", o.Evaluator.Name)
	w.optional("version", o.Evaluator.Version)
	if o.Evaluator.Type != Code {
		w.string("type", o.Evaluator.Type.String())
	}
	w.end('}')
}
