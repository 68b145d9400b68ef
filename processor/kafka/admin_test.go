package kafka_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/processor/kafka"
)

var names = kafka.TopicsWithPrefix("fusebox.")

func TestEnsureTopics(t *testing.T) {
	for _, tt := range []struct {
		name        string
		brokers     int
		layout      kafka.TopicLayout
		partitions  int32
		replication int
		inSync      string
	}{
		{"one broker", 1, kafka.TopicLayout{}, 12, 1, "1"},
		{"two brokers", 2, kafka.TopicLayout{}, 12, 1, "1"},
		{"three brokers", 3, kafka.TopicLayout{Partitions: 5}, 5, 3, "2"},
		{"as asked", 3, kafka.TopicLayout{Partitions: 5, Replication: 1}, 5, 1, "1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cluster := kafkatest.NewLoopback(t, kfake.NumBrokers(tt.brokers))
			client := cluster.Client(t)
			for _, created := range []bool{true, false} {
				all, err := kafka.EnsureTopics(within(t), client, names, tt.layout)
				if err != nil || len(all) != 6 {
					t.Fatalf("EnsureTopics = %+v, %v; want six topics", all, err)
				}
				for _, topic := range all {
					want := kafka.EnsuredTopic{Name: topic.Name, Created: created, Partitions: tt.partitions,
						Replication: tt.replication}
					if topic != want {
						t.Errorf("EnsureTopics has %+v, want %+v", topic, want)
					}
				}
			}
			settings := settingsOf(t, cluster, names.Changelog)
			if got := settings["min.insync.replicas"]; got != tt.inSync {
				t.Errorf("min.insync.replicas = %s, want %s", got, tt.inSync)
			}
		})
	}
}

func TestEnsureTopicsSettings(t *testing.T) {
	cluster := kafkatest.NewLoopback(t)
	ensure(t, cluster)
	compacted := map[string]string{
		"cleanup.policy": "compact", "segment.ms": "3600000", "segment.bytes": "67108864",
		"min.cleanable.dirty.ratio": "0.2", "max.compaction.lag.ms": "3600000", "delete.retention.ms": "604800000",
	}
	input := map[string]string{
		"cleanup.policy": "delete", "retention.ms": "604800000", "message.timestamp.type": "LogAppendTime",
	}
	for topic, want := range map[string]map[string]string{
		names.Outcomes: input, names.Signals: input, names.State: compacted, names.Changelog: compacted,
		names.Transitions: {"cleanup.policy": "delete", "retention.ms": "7776000000"},
		names.DeadLetters: {"cleanup.policy": "delete", "retention.ms": "1209600000"},
	} {
		got := settingsOf(t, cluster, topic)
		want["unclean.leader.election.enable"], want["min.insync.replicas"] = "false", "1"
		for setting, value := range want {
			if got[setting] != value {
				t.Errorf("topic %s has %s=%s, want %s", topic, setting, got[setting], value)
			}
		}
	}
}

func TestEnsureTopicsTakesPartitionsOfThoseThatExist(t *testing.T) {
	cluster := kafkatest.NewLoopback(t)
	cluster.Create(t, 7, nil, names.Signals)
	_, err := kafka.EnsureTopics(within(t), cluster.Client(t), names, kafka.TopicLayout{Partitions: 8})
	if err == nil || !strings.Contains(err.Error(), "topic fusebox.signals.v1 has 7 partitions, so the others cannot") {
		t.Errorf("EnsureTopics with 8 partitions beside a topic with 7: %v, want an error that says so", err)
	}
	all, err := kafka.EnsureTopics(within(t), cluster.Client(t), names, kafka.TopicLayout{})
	if err != nil {
		t.Fatalf("EnsureTopics: %v", err)
	}
	for _, topic := range all {
		if created := topic.Name != names.Signals; topic.Partitions != 7 || topic.Created != created {
			t.Errorf("EnsureTopics has %+v, want 7 partitions, created %v", topic, created)
		}
	}
}

func TestCheckTopics(t *testing.T) {
	cluster := kafkatest.NewLoopback(t)
	ensure(t, cluster)
	if got := check(t, cluster); len(got) != 0 {
		t.Errorf("CheckTopics after EnsureTopics = %+v, want none", got)
	}
	admin := kadm.NewClient(cluster.Client(t))
	for topic, settings := range map[string]map[string]string{
		names.Outcomes:    {"message.timestamp.type": "CreateTime", "retention.ms": "-1"},
		names.Signals:     {"retention.ms": "3600000"},
		names.State:       {"segment.ms": "60000", "cleanup.policy": "delete"},
		names.Transitions: {"retention.ms": "7776000001", "max.message.bytes": "1048588"},
		names.DeadLetters: {"max.message.bytes": "16777217"},
		names.Changelog:   {"segment.bytes": "67108865", "delete.retention.ms": "604799999"},
	} {
		for setting, value := range settings {
			change := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: setting, Value: &value}}
			if _, err := admin.AlterTopicConfigs(within(t), change, topic); err != nil {
				t.Fatalf("set %s=%s of %s: %v", setting, value, topic, err)
			}
		}
	}
	var got []string
	for _, d := range check(t, cluster) {
		got = append(got, strings.Join([]string{d.Topic, d.Setting, d.Got, d.Want}, " "))
	}
	want := []string{
		"fusebox.outcomes.v1 message.timestamp.type CreateTime LogAppendTime",
		"fusebox.signals.v1 retention.ms 3600000 at least 604800000",
		"fusebox.circuit-state.v1 cleanup.policy delete compact",
		"fusebox.circuit-transitions.v1 max.message.bytes 1048588 at least 16777216",
		"fusebox.changelog.v1 segment.bytes 67108865 at most 67108864",
		"fusebox.changelog.v1 delete.retention.ms 604799999 at least 604800000",
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("CheckTopics:\n%s\nwant:\n%s", g, w)
	}
}

func TestCheckTopicsSaysHowToMend(t *testing.T) {
	cluster := kafkatest.NewLoopback(t, kfake.NumBrokers(3))
	ensure(t, cluster)
	admin := kadm.NewClient(cluster.Client(t))
	if _, err := admin.DeleteTopics(within(t), names.Signals, names.DeadLetters, names.State); err != nil {
		t.Fatal(err)
	}
	one := "1"
	settings := map[string]*string{
		"cleanup.policy": &[]string{"compact"}[0], "min.insync.replicas": &one,
		"delete.retention.ms": &[]string{"604800000"}[0], "segment.bytes": &[]string{"1048576"}[0],
		"segment.ms": &[]string{"3600000"}[0], "max.message.bytes": &[]string{"16777216"}[0],
	}
	if _, err := admin.CreateTopic(within(t), 13, 1, settings, names.State); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, d := range check(t, cluster) {
		got[d.Topic+" "+d.Setting] = d.Mend
	}
	want := map[string]string{
		"fusebox.signals.v1 exists":      "fusebox topics create",
		"fusebox.outcomes-dlq.v1 exists": "fusebox topics create",
		"fusebox.circuit-state.v1 partitions": "" +
			"FUSEBOX_TOPIC_PREFIX=<a new prefix> fusebox topics create --partitions 12",
		"fusebox.circuit-state.v1 replication": "kafka-reassign-partitions.sh --bootstrap-server $FUSEBOX_BROKERS " +
			"--execute --reassignment-json-file <a plan with three replicas for each partition>",
		"fusebox.circuit-state.v1 min.insync.replicas": "kafka-configs.sh --bootstrap-server $FUSEBOX_BROKERS " +
			"--alter --entity-type topics --entity-name fusebox.circuit-state.v1 --add-config min.insync.replicas=2",
	}
	for difference, mend := range want {
		if got[difference] != mend {
			t.Errorf("CheckTopics: to mend %s: %q, want %q", difference, got[difference], mend)
		}
	}
	if len(got) != len(want) {
		t.Errorf("CheckTopics found %d differences, want %d: %v", len(got), len(want), got)
	}
}

func TestACLsNameEveryTopicAndTheGroup(t *testing.T) {
	acls := kafka.ACLs(names, "fusebox")
	has := func(part, resource, name, operation string) bool {
		for _, a := range acls {
			if a.Part == part && a.Resource == resource && a.Name == name {
				for _, o := range a.Operations {
					if o == operation {
						return true
					}
				}
			}
		}
		return false
	}
	for _, need := range [][4]string{
		{"processor", "topic", names.Outcomes, "Write"}, // It forwards.
		{"processor", "topic", names.DeadLetters, "Write"},
		{"processor", "group", "fusebox", "Read"},
		{"processor", "transactional-id", "fusebox-", "Write"},
		{"producer", "topic", names.Outcomes, "Write"},
		{"router", "topic", names.State, "Read"},
		{"router", "topic", names.Signals, "Write"},
		{"operator", "topic", names.Signals, "Write"},
		{"operator", "topic", names.Changelog, "DescribeConfigs"},
		{"repair", "topic", names.Changelog, "Write"},
		{"bench", "topic", "fusebox-bench-", "Delete"},
		{"bench", "group", "fusebox-bench-", "Delete"},
		{"repair", "group", "fusebox", "Read"},
		{"repair", "transactional-id", "fusebox-repair", "Write"},
	} {
		if !has(need[0], need[1], need[2], need[3]) {
			t.Errorf("ACLs do not let the %s %s on %s %s", need[0], need[3], need[1], need[2])
		}
	}
	if has("producer", "topic", names.Outcomes, "Read") {
		t.Error("ACLs let a producer read outcomes")
	}
}

// within returns a context that ends before the test's patience does.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func ensure(t *testing.T, cluster *kafkatest.Cluster) {
	t.Helper()
	if _, err := kafka.EnsureTopics(within(t), cluster.Client(t), names, kafka.TopicLayout{}); err != nil {
		t.Fatalf("EnsureTopics: %v", err)
	}
}

func check(t *testing.T, cluster *kafkatest.Cluster) []kafka.TopicDifference {
	t.Helper()
	found, err := kafka.CheckTopics(within(t), cluster.Client(t), names)
	if err != nil {
		t.Fatalf("CheckTopics: %v", err)
	}
	return found
}

func settingsOf(t *testing.T, cluster *kafkatest.Cluster, topic string) map[string]string {
	t.Helper()
	described, err := kadm.NewClient(cluster.Client(t)).DescribeTopicConfigs(within(t), topic)
	if err != nil {
		t.Fatalf("describe %s: %v", topic, err)
	}
	settings := make(map[string]string)
	for _, d := range described {
		for _, c := range d.Configs {
			settings[c.Key] = c.MaybeValue()
		}
	}
	return settings
}

// Apache Kafka knows all settings, and says what it made of them.
func TestTopicsOnApacheKafka(t *testing.T) {
	cluster := kafkatest.Start(t)
	client := cluster.Client(t)
	if _, err := kafka.EnsureTopics(within(t), client, names, kafka.TopicLayout{Partitions: 3}); err != nil {
		t.Fatalf("EnsureTopics: %v", err)
	}
	found, err := kafka.CheckTopics(within(t), client, names)
	if err != nil || len(found) != 0 {
		t.Errorf("CheckTopics after EnsureTopics = %+v, %v; want none", found, err)
	}
	earlier, later := "CreateTime", "0.5"
	admin := kadm.NewClient(client)
	change := func(topic, setting string, value *string) {
		alter := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: setting, Value: value}}
		answer, err := admin.AlterTopicConfigs(within(t), alter, topic)
		if err != nil || answer[0].Err != nil {
			t.Fatalf("set %s of %s: %v, %v", setting, topic, err, answer)
		}
	}
	change(names.Outcomes, "message.timestamp.type", &earlier)
	change(names.Changelog, "min.cleanable.dirty.ratio", &later)
	tick := time.NewTicker(50 * time.Millisecond) // A broker learns of a change a little later than the controller.
	defer tick.Stop()
	for waiting := within(t); ; {
		found, err = kafka.CheckTopics(waiting, client, names)
		if err == nil && len(found) == 2 && found[0].Got == earlier && found[1].Got == later {
			return
		}
		select {
		case <-tick.C:
		case <-waiting.Done():
			t.Fatalf("CheckTopics = %+v, %v; want the two settings that were changed", found, err)
		}
	}
}
