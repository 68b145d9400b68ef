package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TopicDifference is something about a topic that is not as it should be.
type TopicDifference struct {
	Topic   string `json:"topic"`
	Setting string `json:"setting"` // A setting's name, or exists, partitions, replication or access.
	Got     string `json:"got"`
	Want    string `json:"want"`
	Why     string `json:"why"`
	Mend    string `json:"mend"` // A command line, or what to do in words.
}

// CheckTopics compares the topics with what they should be and returns what differs, in the order of the topics. A
// setting that this kind of broker does not know is passed over.
func CheckTopics(ctx context.Context, client *kgo.Client, topics Topics) ([]TopicDifference, error) {
	admin := kadm.NewClient(client)
	found, err := findTopics(ctx, admin, topics)
	if err != nil {
		return nil, err
	}
	var there []string
	for _, name := range topics.names() {
		if found.has(name) {
			there = append(there, name)
		}
	}
	described, err := admin.DescribeTopicConfigs(ctx, there...)
	if err != nil {
		return nil, fmt.Errorf("ask for the settings of the topics: %w", err)
	}
	var all []TopicDifference
	most := found.mostPartitions(topics)
	for _, plan := range plans(topics, found.replication()) {
		if !found.has(plan.name) {
			all = append(all, TopicDifference{plan.name, "exists", "no", "yes", "nothing starts without it",
				"fusebox topics create"})
			continue
		}
		if !plan.free {
			all = append(all, found.differingPartitions(plan.name, most)...)
		}
		all = append(all, found.differingReplication(plan.name)...)
		settings, err := described.On(plan.name, nil)
		if err == nil {
			err = settings.Err
		}
		if err != nil {
			all = append(all, TopicDifference{plan.name, "access", err.Error(), "its settings",
				"they cannot be compared", "give whoever runs this the operation DescribeConfigs on the topic"})
			continue
		}
		all = append(all, differingSettings(plan, settings.Configs)...)
	}
	return all, nil
}

// mostPartitions returns the number of partitions that most topics have; on a tie, that of the first.
func (f foundTopics) mostPartitions(topics Topics) int {
	votes, most := make(map[int]int), 0
	for _, plan := range plans(topics, 1) {
		if !plan.free && f.has(plan.name) {
			votes[len(f.details[plan.name].Partitions)]++
		}
	}
	for _, name := range topics.names() {
		if n := len(f.details[name].Partitions); votes[n] > votes[most] {
			most = n
		}
	}
	return most
}

func (f foundTopics) differingPartitions(name string, most int) []TopicDifference {
	have := len(f.details[name].Partitions)
	if have == most {
		return nil
	}
	return []TopicDifference{{
		name, "partitions", fmt.Sprint(have), fmt.Sprint(most),
		"a circuit has the same partition in every topic; partitions cannot be added or taken away under it",
		fmt.Sprintf("FUSEBOX_TOPIC_PREFIX=<a new prefix> fusebox topics create --partitions %d", most),
	}}
}

func (f foundTopics) differingReplication(name string) []TopicDifference {
	have, want := f.details[name].Partitions.NumReplicas(), int(f.replication())
	if have >= want {
		return nil
	}
	return []TopicDifference{{
		name, "replication", fmt.Sprint(have), fmt.Sprintf("%s%d", atLeast, want),
		fmt.Sprintf("there are %d brokers, and one may be lost", f.brokers),
		"kafka-reassign-partitions.sh --bootstrap-server $FUSEBOX_BROKERS --execute --reassignment-json-file " +
			"<a plan with three replicas for each partition>",
	}}
}

func differingSettings(plan topicPlan, configs []kadm.Config) []TopicDifference {
	got := make(map[string]string, len(configs))
	for _, c := range configs {
		if c.Value != nil {
			got[c.Key] = *c.Value
		}
	}
	var all []TopicDifference
	for _, s := range plan.settings {
		value, known := got[s.name]
		if !known || s.fits(value) {
			continue
		}
		all = append(all, TopicDifference{
			plan.name, s.name, value, s.bound.String() + s.want, s.why,
			fmt.Sprintf("kafka-configs.sh --bootstrap-server $FUSEBOX_BROKERS --alter --entity-type topics "+
				"--entity-name %s --add-config %s=%s", plan.name, s.name, s.want),
		})
	}
	return all
}
