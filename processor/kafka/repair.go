package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Repair compares the group's offsets with the progress records in the changelog, by the same code as a start, and
// makes them agree where they differ.
type Repair struct {
	cluster *cluster
	client  []kgo.Opt
	most    int64 // Offsets that are read to count records, each time that it looks.
	counts  int64 // Those of them that are left.
}

// OpenRepair reaches the cluster and looks at the topics. The error is an ErrTopics where they are not as they have to
// be.
func OpenRepair(ctx context.Context, topics Topics, group string, client []kgo.Opt) (*Repair, error) {
	k, err := connect(ctx, topics, group, client, func(error) {})
	if err != nil {
		return nil, err
	}
	return &Repair{cluster: k, client: client, most: countMost}, nil
}

// Close lets go of the cluster.
func (r *Repair) Close() { r.cluster.client.Close() }

// Side is what a partition goes on from.
type Side string

// The sides that may be taken.
const (
	TakeProgress Side = "progress"
	TakeGroup    Side = "group"
)

// Standing is where the group's offsets and the progress record of a partition stand.
type Standing struct {
	Partition int32    `json:"partition"`
	Relation  Relation `json:"relation"`
	Says      string   `json:"says"`              // The same in words.
	Choices   []Choice `json:"choices,omitempty"` // What can be done, where they differ.

	base  progress
	group committed
}

// Choice is what follows from taking a side.
type Choice struct {
	Take    Side    `json:"take"`
	From    Records `json:"from"`              // The next offsets.
	Skipped Records `json:"skipped"`           // Nobody has counted them, and nobody will.
	Again   Records `json:"again"`             // They are handled a second time.
	AtMost  bool    `json:"at_most,omitempty"` // Offsets were counted in place of some: see count.
	Problem string  `json:"problem,omitempty"` // Why it cannot be taken.
}

// Records are numbers of records of the input topics, or offsets of them.
type Records struct {
	Outcomes int64 `json:"outcomes"`
	Signals  int64 `json:"signals"`
}

// Choice returns what follows from taking a side.
func (s Standing) Choice(side Side) (Choice, bool) {
	at := slices.IndexFunc(s.Choices, func(c Choice) bool { return c.Take == side })
	if at < 0 {
		return Choice{}, false
	}
	return s.Choices[at], true
}

// Standings returns where all partitions stand, in their order. Nobody needs to be stopped for it.
func (r *Repair) Standings(ctx context.Context) ([]Standing, error) {
	r.counts = r.most
	before, err := r.offsets(ctx)
	if err != nil {
		return nil, err
	}
	var all []Standing
	for partition := range r.cluster.partitions {
		s, err := r.standing(ctx, partition, before[partition])
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	after, err := r.offsets(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		// Offsets that moved while we looked are those of a partition that is worked on.
		if s := &all[i]; s.Relation == Differs && after[s.Partition] != before[s.Partition] {
			*s = Standing{Partition: s.Partition, Relation: Agrees, Says: "it is being worked on"}
		}
	}
	return all, nil
}

// offsets returns what the group has committed, as soon as no transaction is open that could change it.
func (r *Repair) offsets(ctx context.Context) (map[int32]committed, error) {
	return again(ctx, func(error) {}, func() (map[int32]committed, error) { return r.cluster.offsets(ctx) })
}

// standing compares both sides of one partition as a restore does: the changelog is read up to its high watermark as it
// was after the offsets were fetched.
func (r *Repair) standing(ctx context.Context, partition int32, group committed) (Standing, error) {
	s := Standing{Partition: partition, group: group}
	text, err := r.progress(ctx, partition)
	if err != nil {
		return s, err
	}
	found := text != nil
	if found {
		s.base, err = readProgress(text)
	}
	var recreated []string
	if err == nil {
		s.Relation, recreated, err = r.cluster.relate(&s.base, found, group)
	}
	if err != nil {
		s.Relation, s.Says = Unreadable, err.Error()
		return s, nil
	}
	if s.Relation == Differs {
		s.Says = differing(&s.base, found, group)
		s.Choices, err = r.choices(ctx, &s, found)
		return s, err
	}
	s.Says = s.words(recreated)
	return s, r.findLost(ctx, &s)
}

// words says how a partition starts that does so by itself.
func (s *Standing) words(recreated []string) string {
	at := fmt.Sprintf("outcomes %d and signals %d", s.base.Outcomes.Next, s.base.Signals.Next)
	switch s.Relation {
	case Fresh:
		return "nothing was handled yet"
	case Expired:
		return "the group has no offsets; it goes on from the changelog, at " + at + ", by itself"
	case Recreated:
		return fmt.Sprintf("%v: deleted and created again; it is read from its start, by itself, and circuits go on "+
			"as they are", recreated)
	}
	return "both are at " + at
}

// findLost takes note where an input topic ends before what was handled of it.
func (r *Repair) findLost(ctx context.Context, s *Standing) error {
	for _, in := range r.inputs(&s.base) {
		_, end, err := r.span(ctx, in.topic, s.Partition)
		if err != nil {
			return err
		}
		if in.next > end {
			s.Relation, s.Says = Lost, fmt.Sprintf("%s ends at offset %d, and records up to %d were handled; "+
				"start an instance, its log says what can be done", in.topic, end, in.next)
		}
	}
	return nil
}

// inputAt is an input topic and the next offset of it.
type inputAt struct {
	topic string
	next  int64
}

func (r *Repair) inputs(p *progress) [2]inputAt {
	return [2]inputAt{
		{r.cluster.topics.Outcomes, p.Outcomes.Next}, {r.cluster.topics.Signals, p.Signals.Next},
	}
}

// progress returns the newest progress record of a partition, or nil where there is none. It lies near the end, after
// the values of the last transaction, so that is looked at first.
func (r *Repair) progress(ctx context.Context, partition int32) (newest []byte, err error) {
	topic := r.cluster.topics.Changelog
	start, end, err := r.span(ctx, topic, partition)
	if err != nil {
		return nil, err
	}
	for back := int64(1000); ; back *= 10 {
		from := max(start, end-back)
		log := logReader{cluster: r.cluster, topic: topic, partition: partition, position: from}
		err := log.readTo(ctx, end, func(record *kgo.Record) {
			if string(record.Key) == progressKey {
				newest = record.Value
			}
		})
		if err != nil || newest != nil || from == start {
			return newest, err
		}
	}
}

// span returns where the log of a partition begins and ends.
func (r *Repair) span(ctx context.Context, topic string, partition int32) (start, end int64, err error) {
	return r.cluster.span(ctx, func(error) {}, topic, partition)
}

// Members returns the names of the group's members, of those that are alive.
func (r *Repair) Members(ctx context.Context) ([]string, error) {
	described, err := r.cluster.admin.DescribeGroups(ctx, r.cluster.group)
	if err == nil {
		err = described.Error()
	}
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return nil, fmt.Errorf("ask for the members of group %s: %w", r.cluster.group, err)
	}
	var names []string
	for _, member := range described[r.cluster.group].Members {
		name := member.MemberID
		if member.InstanceID != nil {
			name = *member.InstanceID
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}
