package client

import (
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
)

// TestSweptLedgersAreFree reports once of a circuit under each of two lives of it, and no more for two days: nothing
// that a gate knows of the circuit holds the ledger for ever.
func TestSweptLedgersAreFree(t *testing.T) {
	c, policies := newCombiner(CombineSame), breaker.Builtin()
	c.policies.Store(policies)
	table := newTable(time.Now())
	var slots []*slot
	for life := range int64(2) {
		slots = append(slots, table.put(record("r", life), nil))
		l := &Lease{circuit: "r", slot: slots[life], plain: true}
		at, o := time.Now(), &Outcome{Kind: MissingEvidence}
		sent, err := o.record(l)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			b := c.open(l)
			b.put(nil, at, l, o, parcel{record: sent}, policies)
			b.mu.Unlock()
		}
		if slots[life].ledger.Load() == nil {
			t.Error("a report has to look its ledger up again")
		}
		table.forget("r")
	}
	if slots[0].ledger.Load() != nil {
		t.Error("the circuit's life that is over holds the ledger of the new one")
	}
	c.sweep(time.Now().Add(48 * time.Hour))
	if n := c.circuits.Size(); n != 0 || slots[1].ledger.Load() != nil {
		t.Errorf("%d ledgers are left, and the circuit holds %p, want none", n, slots[1].ledger.Load())
	}
}
