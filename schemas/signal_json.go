package schemas

import (
	"fmt"
	"math"
	"time"
)

// DecodeSignal reads a record of the signals topic. Where the value names no circuit the key does. The error is a
// *Fault. Members that belong to another type of signal are read and left out. Nothing of the result lies in key or
// value.
func DecodeSignal(key, value []byte) (Signal, error) {
	var s Signal
	r := reader{record: "signal", text: value}
	if err := r.read(MaxRecord, s.member); err != nil {
		return Signal{}, err
	}
	if s.Type == 0 {
		return Signal{}, &Fault{Record: r.record, Field: "type", Problem: "is missing"}
	}
	circuit, err := circuitOf(r.record, s.Circuit, string(key))
	if err != nil {
		return Signal{}, err
	}
	s.Circuit = circuit
	own, fault := s.own()
	if fault != nil {
		return Signal{}, &Fault{Record: r.record, Field: fault.Field, Problem: fault.Problem}
	}
	return own, nil
}

func (s *Signal) member(v *value) error {
	switch v.name {
	case "type":
		return v.signalType(&s.Type)
	case "circuit":
		return v.string(&s.Circuit)
	case "holder":
		return v.string(&s.Holder)
	case "lease":
		return v.string(&s.Lease)
	case "epoch":
		s.HasEpoch = v.kind != 'n'
		return v.whole(&s.Epoch)
	case "unused":
		return v.bool(&s.Unused)
	case "mode":
		return v.mode(&s.Mode)
	case "actor":
		return v.cut(&s.Actor)
	case "reason":
		return v.cut(&s.Reason)
	case "ttl":
		return v.ttl(&s.TTL)
	}
	return nil
}

// own returns the signal with the members of its type alone, and what is wrong with them.
func (s *Signal) own() (Signal, *Fault) {
	signal := Signal{Type: s.Type, Circuit: s.Circuit}
	switch s.Type {
	case Claim:
		signal.Lease, signal.Holder, signal.Epoch, signal.HasEpoch = s.Lease, s.Holder, s.Epoch, s.HasEpoch
	case Release:
		signal.Lease, signal.Unused = s.Lease, s.Unused
	case Override:
		signal.Mode, signal.Actor, signal.Reason, signal.TTL = s.Mode, s.Actor, s.Reason, s.TTL
		return signal, signal.overrideFault()
	}
	if problem := nameProblem(s.Lease); problem != "" {
		return signal, &Fault{Field: "lease", Problem: problem}
	}
	if problem := nameProblem(s.Holder); s.Type == Claim && problem != "" {
		return signal, &Fault{Field: "holder", Problem: problem}
	}
	return signal, nil
}

func (s *Signal) overrideFault() *Fault {
	switch {
	case s.Mode == NoMode:
		return &Fault{Field: "mode", Problem: "is missing"}
	case s.Actor == "":
		return &Fault{Field: "actor", Problem: "is missing"}
	case s.Reason == "":
		return &Fault{Field: "reason", Problem: "is missing"}
	}
	return nil
}

func (v *value) signalType(t *SignalType) error {
	var name string
	if err := v.string(&name); err != nil {
		return err
	}
	*t = 0
	for known := Claim; known <= Override; known++ {
		if name == known.String() {
			*t = known
		}
	}
	if *t == 0 && name != "" {
		return v.wrong("must be claim, release or override")
	}
	return nil
}

func (v *value) mode(m *Mode) error {
	var name string
	if err := v.string(&name); err != nil {
		return err
	}
	known, ok := ModeOf(name)
	*m = known
	if !ok && name != "" {
		return v.wrong("must be force_open, force_closed, disable, reset or clear")
	}
	return nil
}

// ttl reads a duration and rounds it to the millisecond, halves up. One that would vanish by that is refused: it would
// mean without end.
func (v *value) ttl(d *time.Duration) error {
	if err := v.duration(d); err != nil {
		return err
	}
	exact := *d
	if exact > math.MaxInt64-time.Millisecond {
		return v.wrong("is out of range")
	}
	*d = exact.Round(time.Millisecond)
	if *d == 0 && exact > 0 {
		return v.wrong("must be 0, for without end, or at least 1ms")
	}
	return nil
}

// AppendSignal appends the signal as JSON to b and returns the extended buffer. It panics where the signal has no type.
func AppendSignal(b []byte, s *Signal) []byte {
	if s.Type < Claim || s.Type > Override {
		panic(fmt.Sprintf("signal for %q has no type: %d", s.Circuit, s.Type))
	}
	w := writer{b}
	w.begin('{')
	w.string("type", s.Type.String())
	w.optional("circuit", s.Circuit)
	switch s.Type {
	case Claim:
		w.string("holder", s.Holder)
		w.string("lease", s.Lease)
		if s.HasEpoch {
			w.int("epoch", s.Epoch)
		}
	case Release:
		w.string("lease", s.Lease)
		w.bool("unused", s.Unused)
	case Override:
		w.string("mode", s.Mode.String())
		w.string("actor", s.Actor)
		w.string("reason", s.Reason)
		if s.TTL != 0 {
			w.string("ttl", s.TTL.String())
		}
	}
	w.end('}')
	return w.b
}
