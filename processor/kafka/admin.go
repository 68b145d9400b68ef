package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DefaultPartitions is how many partitions topics get where nobody says otherwise.
const DefaultPartitions = 12

// TopicLayout is how topics are spread.
type TopicLayout struct {
	// Partitions of each topic. 0 takes the number that those topics have which exist, or else DefaultPartitions.
	Partitions int32
	// Replication is how many replicas a partition has. 0 takes 3 where there are three brokers, or else 1.
	Replication int16
}

// EnsuredTopic is a topic that exists now.
type EnsuredTopic struct {
	Name        string `json:"name"`
	Created     bool   `json:"created"` // By this call.
	Partitions  int32  `json:"partitions"`
	Replication int    `json:"replication"`
}

// EnsureTopics creates those of the topics that are missing, with the settings they need, and returns when all of them
// have leaders. It leaves those alone that exist: see CheckTopics. Two calls at once do no harm.
func EnsureTopics(
	ctx context.Context, client *kgo.Client, topics Topics, layout TopicLayout,
) ([]EnsuredTopic, error) {
	admin := kadm.NewClient(client)
	found, err := findTopics(ctx, admin, topics)
	if err != nil {
		return nil, err
	}
	if layout.Partitions, err = found.partitionsFor(topics, layout.Partitions); err != nil {
		return nil, err
	}
	if layout.Replication == 0 {
		layout.Replication = found.replication()
	}
	created := make(map[string]bool)
	for _, plan := range plans(topics, layout.Replication) {
		if found.has(plan.name) {
			continue
		}
		if created[plan.name], err = create(ctx, admin, plan, layout); err != nil {
			return nil, fmt.Errorf("create topic %s with %d partitions and %d replicas: %w",
				plan.name, layout.Partitions, layout.Replication, err)
		}
	}
	return awaitLeaders(ctx, client, topics, created)
}

// create creates a topic and tells whether it did: somebody else may have been faster.
func create(ctx context.Context, admin *kadm.Client, plan topicPlan, layout TopicLayout) (bool, error) {
	settings := make(map[string]*string, len(plan.settings))
	for _, s := range plan.settings {
		settings[s.name] = &s.want
	}
	answer, err := admin.CreateTopic(ctx, layout.Partitions, layout.Replication, settings, plan.name)
	if errors.Is(err, kerr.TopicAlreadyExists) {
		return false, nil
	}
	if err != nil && answer.ErrMessage != "" {
		return false, fmt.Errorf("%w: %s", err, answer.ErrMessage)
	}
	return err == nil, err
}

// awaitLeaders asks until every partition has a leader and every broker knows of it: a broker learns of a new topic a
// little later than the controller that made it, and who comes next may ask any of them.
func awaitLeaders(
	ctx context.Context, client *kgo.Client, topics Topics, created map[string]bool,
) ([]EnsuredTopic, error) {
	const pause = 50 * time.Millisecond
	tick := time.NewTicker(pause)
	defer tick.Stop()
	admin := kadm.NewClient(client)
	for {
		found, err := findTopics(ctx, admin, topics)
		if err != nil {
			return nil, err
		}
		lacking := found.withoutLeader(topics)
		if lacking == "" && len(created) > 0 {
			lacking = unknownSomewhere(ctx, client, topics)
		}
		if lacking == "" {
			return found.ensured(topics, created), nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for a leader of topic %s: %w", lacking, ctx.Err())
		}
	}
}

// unknownSomewhere names a topic of which a broker does not know yet, if there is one. A broker that does not answer is
// left out: it asks the others when it is back.
func unknownSomewhere(ctx context.Context, client *kgo.Client, topics Topics) string {
	request := kmsg.NewPtrMetadataRequest()
	for _, name := range topics.names() {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = &name
		request.Topics = append(request.Topics, topic)
	}
	for _, broker := range client.DiscoveredBrokers() {
		answer, err := broker.Request(ctx, request)
		if err != nil {
			continue
		}
		for _, topic := range answer.(*kmsg.MetadataResponse).Topics {
			if topic.ErrorCode != 0 && topic.Topic != nil {
				return *topic.Topic
			}
		}
	}
	return ""
}

// foundTopics is what the cluster says of the topics.
type foundTopics struct {
	details kadm.TopicDetails
	brokers int
}

// findTopics asks the cluster for the topics. Where authorized operations are wanted kadm asks a broker; otherwise it
// answers from a cache, which is up to 5 s old.
func findTopics(ctx context.Context, admin *kadm.Client, topics Topics) (foundTopics, error) {
	answer, err := admin.Metadata(kadm.WithAuthorizedOps(ctx), topics.names()...)
	if err != nil {
		return foundTopics{}, fmt.Errorf("ask for the topics: %w", err)
	}
	for name, detail := range answer.Topics {
		if detail.Err != nil && !errors.Is(detail.Err, kerr.UnknownTopicOrPartition) {
			return foundTopics{}, fmt.Errorf("ask for topic %s: %w", name, detail.Err)
		}
	}
	return foundTopics{answer.Topics, len(answer.Brokers)}, nil
}

func (f foundTopics) has(name string) bool {
	detail, ok := f.details[name]
	return ok && detail.Err == nil
}

// replication returns how many replicas partitions should have in this cluster.
func (f foundTopics) replication() int16 {
	if f.brokers >= 3 {
		return 3
	}
	return 1
}

// partitionsFor returns how many partitions missing topics get, which those that exist have already.
func (f foundTopics) partitionsFor(topics Topics, asked int32) (int32, error) {
	for _, plan := range plans(topics, 1) {
		if plan.free || !f.has(plan.name) {
			continue
		}
		have := int32(len(f.details[plan.name].Partitions))
		if asked != 0 && asked != have {
			return 0, fmt.Errorf("topic %s has %d partitions, so the others cannot have %d: "+
				"leave the number out, or choose a new FUSEBOX_TOPIC_PREFIX", plan.name, have, asked)
		}
		asked = have
	}
	if asked == 0 {
		asked = DefaultPartitions
	}
	return asked, nil
}

// withoutLeader names a topic that is not ready, if there is one.
func (f foundTopics) withoutLeader(topics Topics) string {
	for _, name := range topics.names() {
		if !f.has(name) {
			return name
		}
		for _, p := range f.details[name].Partitions {
			if p.Err != nil || p.Leader < 0 {
				return name
			}
		}
	}
	return ""
}

func (f foundTopics) ensured(topics Topics, created map[string]bool) []EnsuredTopic {
	var all []EnsuredTopic
	for _, name := range topics.names() {
		partitions := f.details[name].Partitions
		all = append(all, EnsuredTopic{name, created[name], int32(len(partitions)), partitions.NumReplicas()})
	}
	return all
}

// names returns the names of all topics, in the order of the specification.
func (t Topics) names() []string {
	return []string{t.Outcomes, t.Signals, t.State, t.Transitions, t.Changelog, t.DeadLetters}
}
