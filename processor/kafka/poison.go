package kafka

import "github.com/twmb/franz-go/pkg/kgo"

// poison is why a record is to be set aside when it comes again: only after it was tried is it known that it cannot be
// handled.
type poison struct {
	problem  string
	tooLarge bool
	batch    int64 // Where it stands for a whole batch: how many records that had.
}

// poisonKey names a record of a pair.
type poisonKey struct {
	topic  string
	offset int64
}

// mark notes that a record is to be set aside. The mark goes when an offset behind it is committed.
func (p *pair) mark(topic string, offset int64, why poison) {
	if p.poison == nil {
		p.poison = map[poisonKey]poison{}
	}
	p.poison[poisonKey{topic, offset}] = why
}

// setPoisonAside sets aside what was marked.
func (w *worker) setPoisonAside(p *pair, from *feed, r *kgo.Record, why poison) {
	tally := p.tally(from)
	if !why.tooLarge {
		tally.unreadable++
		w.setAside(p, r, why.problem)
		return
	}
	if why.batch > 0 {
		tally.tooLarge += int(why.batch)
		r.Offset = r.Offset + 1 - why.batch // Its last offset was what had to be passed; the letter tells the first.
	} else {
		tally.tooLarge++
	}
	w.setAside(p, r, why.problem)
}
