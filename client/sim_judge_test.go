//go:build synctests

package client_test

import (
	"slices"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

const (
	simArrives = 1500 * time.Millisecond // From a record's time to a gate that has it, where nothing is wrong.
	simClaimed = 2 * time.Second         // From a probe that is to be had to a lease.
)

// published is a record of a circuit, and its time.
type published struct {
	schemas.State
	at time.Time
}

// judge holds what the routers were allowed against what was published.
func (f *fifty) judge() {
	all := map[string][]published{}
	for _, r := range f.ReadCommitted(f.t, topics.State) {
		if len(r.Key) == 0 || r.Key[0] == 0 || r.Value == nil {
			continue
		}
		s, err := schemas.DecodeState(r.Value)
		if err != nil {
			f.t.Fatalf("DecodeState(%s): %v", r.Value, err)
		}
		all[s.Circuit] = append(all[s.Circuit], published{s, r.Timestamp})
	}
	for c := range simCircuits {
		f.judgeLeases(all[circuitName(c)])
	}
	held := map[string]bool{}
	for _, a := range f.admissions {
		if a.lease == "" {
			f.judgePlain(a, all[a.circuit])
			continue
		}
		if held[a.lease] {
			f.t.Errorf("lease %s was given to two calls", a.lease)
		}
		held[a.lease] = true
		f.judgeProbe(a, all[a.circuit])
	}
	for c := range simCircuits {
		f.judgeUnused(all[circuitName(c)], held)
	}
}

// judgeLeases counts leases that live at once, and holds how soon the next probe follows one that came to nothing.
func (f *fifty) judgeLeases(records []published) {
	for i, r := range records {
		if live := len(r.At(r.at).Leases); live > f.concurrency {
			f.t.Errorf("%s has %d leases at %v, want at most %d", r.Circuit, live, r.at, f.concurrency)
		}
		f.took(r.State.State.String())
		if len(r.Leases) < f.concurrency || i+1 == len(records) {
			continue
		}
		due := r.Leases[0].ExpiresAt // The least: all last as long.
		next := records[i+1].at
		if next.Before(due) || f.troubled("", due.Add(-simClaimed), next) {
			continue
		}
		f.took("a lease ran out")
		if next.Sub(due) > simClaimed {
			f.t.Errorf("%s, epoch %d: nobody probes until %v after a lease ran out", r.Circuit, r.Epoch, next.Sub(due))
		}
	}
}

// judgePlain wants a call without a lease to have been let through by a record that its gate had to go by.
func (f *fifty) judgePlain(a admission, records []published) {
	if f.troubled(a.router, a.at.Add(-simArrives), a.at) {
		return
	}
	f.took("a call was let through, and judged")
	if a.epoch == 0 && (len(records) == 0 || records[0].at.After(a.at.Add(-simArrives))) {
		return
	}
	for i, r := range records {
		old := i+1 < len(records) && records[i+1].at.Before(a.at.Add(-simArrives))
		if !old && !r.at.After(a.at) && r.Epoch == a.epoch && r.State.State == schemas.Closed {
			return
		}
	}
	f.t.Errorf("%s was let through %s at epoch %d, %v: no record that it had to go by says so",
		a.router, a.circuit, a.epoch, a.at)
}

// judgeProbe wants a lease to be the one that was granted, and its holder to be alone with as many as may be.
func (f *fifty) judgeProbe(a admission, records []published) {
	f.took("a call was a probe")
	granted := slices.ContainsFunc(records, func(r published) bool {
		return r.Epoch == a.epoch && !r.at.After(a.at) && slices.ContainsFunc(r.Leases, func(l schemas.Lease) bool {
			return l.ID == a.lease && l.Holder == a.router && a.at.Before(l.ExpiresAt)
		})
	})
	if !granted {
		f.t.Errorf("%s holds lease %s of %s at epoch %d, which nobody granted", a.router, a.lease, a.circuit, a.epoch)
	}
	live := 0
	for _, b := range f.admissions {
		if b.lease != "" && b.circuit == a.circuit && !b.at.After(a.at) && a.at.Before(b.until) {
			live++
		}
	}
	if live > f.concurrency {
		f.t.Errorf("%d calls hold leases of %s when %s gets one, at %v", live, a.circuit, a.router, a.at)
	}
}

// judgeUnused wants a lease that came when no call waited for it any more to be given back soon.
func (f *fifty) judgeUnused(records []published, held map[string]bool) {
	since, holders := map[string]time.Time{}, map[string]string{}
	for _, r := range records {
		stands := map[string]bool{}
		for _, l := range r.Leases {
			stands[l.ID], holders[l.ID] = true, l.Holder
			if _, known := since[l.ID]; !known {
				since[l.ID] = r.at
			}
		}
		for id, from := range since {
			if stands[id] || held[id] {
				continue
			}
			delete(since, id)
			if strings.HasSuffix(id, "-again") {
				continue // Claimed beside a gate, which knows nothing of it.
			}
			f.took("a lease came too late")
			if !f.cutOff(holders[id], from, r.at) && r.at.Sub(from) > 3*time.Second {
				f.t.Errorf("lease %s of %s stood for %v, and no call had it", id, r.Circuit, r.at.Sub(from))
			}
		}
	}
}

// cutOff tells whether a lease could not be given back in a stretch: its holder has lost the brokers, or there was no
// processor.
func (f *fifty) cutOff(holder string, from, to time.Time) bool {
	return slices.ContainsFunc(f.troubles, func(t trouble) bool {
		return t.router == holder && !t.from.After(to) && !t.to.Before(from) ||
			t.router == "" && t.from.After(from) && !t.from.After(to)
	})
}

// troubled tells whether a router, or all, may have known nothing in a stretch.
func (f *fifty) troubled(router string, from, to time.Time) bool {
	return slices.ContainsFunc(f.troubles, func(t trouble) bool {
		return (t.router == "" || t.router == router) && !t.from.After(to) && !t.to.Before(from)
	})
}
