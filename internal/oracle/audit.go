package oracle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/audit"
	"github.com/fusebox-project/fusebox/schemas"
)

// feedSize is how many records an audit is handed at once: few, so that it has to ask often.
const feedSize = 7

// Audit audits a log as `fusebox audit` does, from its first record on, and returns a report for each partition.
func Audit(l *Log) ([]audit.Report, error) { return l.audits(nil) }

// AuditFrom audits a log from somewhere on, in each partition where some record was published, with some of the inputs
// before it.
func AuditFrom(l *Log, rng *rand.Rand) ([]audit.Report, error) { return l.audits(rng) }

func (l *Log) audits(rng *rand.Rand) ([]audit.Report, error) {
	var reports []audit.Report
	for id := range l.Partitions {
		a, err := l.audit(id, rng)
		if err != nil {
			return nil, err
		}
		reports = append(reports, a)
	}
	return reports, nil
}

func (l *Log) audit(id int32, rng *rand.Rand) (audit.Report, error) {
	switches, published, err := l.published(id)
	if err != nil {
		return audit.Report{}, err
	}
	config := audit.Config{
		Site: l.site(id), Switches: switches, Policies: l.Policies[0], Whole: rng == nil,
		End: schemas.Inputs{Outcomes: math.MaxInt64, Signals: math.MaxInt64},
	}
	var first schemas.State
	if rng != nil && len(published) > 0 {
		published = published[rng.IntN(len(published)):]
		for len(published) > 0 {
			if first, err = schemas.DecodeState(published[0].Value); err == nil {
				break
			}
			published = published[1:] // It is of no circuit.
		}
		config.From = schemas.Inputs{
			Outcomes: max(0, first.Inputs.Outcomes-1-rng.Int64N(40)),
			Signals:  max(0, first.Inputs.Signals-1-rng.Int64N(10)),
		}
	}
	a := audit.New(config)
	feeds := map[audit.Feed][]audit.Record{
		audit.Outcomes: from(plain(of(l.Outcomes, id)), config.From.Outcomes),
		audit.Signals:  from(plain(of(l.Signals, id)), config.From.Signals),
	}
	for {
		switch feed := a.Run(); feed {
		case audit.Nothing:
			return a.Report(), nil
		case audit.Transitions:
			n := min(feedSize, len(published))
			a.TakePublished(published[:n])
			if published = published[n:]; n == 0 {
				a.End(feed)
			}
		default:
			records := feeds[feed]
			n := min(feedSize, len(records))
			if n == 0 {
				a.End(feed)
				continue
			}
			a.Take(feed, records[:n], records[n-1].Offset+1)
			feeds[feed] = records[n:]
		}
	}
}

// from returns the records from an offset on.
func from(records []audit.Record, offset int64) []audit.Record {
	for len(records) > 0 && records[0].Offset < offset {
		records = records[1:]
	}
	return records
}

// published returns the switches and the state records of a partition of the transitions.
func (l *Log) published(id int32) (switches []audit.Switch, published []audit.Published, err error) {
	for _, r := range of(l.Transitions, id) {
		published = append(published, audit.Published{Offset: r.Offset, Time: r.Timestamp, Value: r.Value})
		if string(r.Key) != schemas.PoliciesKey {
			continue
		}
		s, err := schemas.DecodeSwitch(r.Value)
		if err != nil {
			return nil, nil, err
		}
		policies, err := breaker.Read("transitions", []byte(s.Policies.Text))
		if err != nil {
			return nil, nil, err
		}
		switches = append(switches, audit.Switch{At: s.Inputs, Version: s.Policies.Version, Policies: policies})
	}
	return switches, published, nil
}

func (l *Log) site(id int32) audit.Site {
	return audit.Site{
		Outcomes: topicOf(l.Outcomes), Signals: topicOf(l.Signals), Transitions: topicOf(l.Transitions),
		Partition: id, Partitions: l.Partitions, Group: l.Group, Cluster: l.Cluster, TopicIDs: l.TopicIDs,
		Home: l.home,
	}
}

// Audited returns an error that names what an audit finds, and how much it looked at.
func Audited(l *Log) (same int64, err error) {
	reports, err := Audit(l)
	if err != nil {
		return 0, err
	}
	var text strings.Builder
	for _, r := range reports {
		same += r.Same
		for _, d := range r.Differences {
			fmt.Fprintf(&text, "%+v\n", d)
		}
		for _, g := range r.Gaps {
			if g.Records > 0 {
				fmt.Fprintf(&text, "not audited: %+v\n", g)
			}
		}
	}
	if text.Len() > 0 {
		return same, fmt.Errorf("the audit finds\n%s", text.String())
	}
	return same, nil
}
