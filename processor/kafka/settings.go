package kafka

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicSettings are the settings of the topics by their names. Those are missing which a broker does not tell: it may
// not know the question, or we may not have the right to ask it.
type topicSettings map[string]map[string]string

// learnSettings asks for the settings of all topics, and keeps what was known where there is no answer.
func (k *cluster) learnSettings(ctx context.Context) topicSettings {
	ctx, cancel := context.WithTimeout(ctx, beatEvery)
	defer cancel()
	request := kmsg.NewPtrDescribeConfigsRequest()
	for _, name := range k.topics.names() {
		topic := kmsg.NewDescribeConfigsRequestResource()
		topic.ResourceType, topic.ResourceName = kmsg.ConfigResourceTypeTopic, name
		request.Resources = append(request.Resources, topic)
	}
	described, err := request.RequestWith(ctx, k.client) // The admin client gives up all for one that it may not see.
	if err != nil {
		return k.known()
	}
	found := topicSettings{}
	for _, topic := range described.Resources {
		if topic.ErrorCode != 0 {
			continue
		}
		found[topic.ResourceName] = map[string]string{}
		for _, c := range topic.Configs {
			if c.Value != nil {
				found[topic.ResourceName][c.Name] = *c.Value
			}
		}
	}
	k.settings.Store(&found)
	return found
}

// known returns the settings as last learned.
func (k *cluster) known() topicSettings {
	if s := k.settings.Load(); s != nil {
		return *s
	}
	return nil
}

// refuse returns an ErrTopics for each topic that is kept in a way with which Fusebox would lose its memory, or miss
// records.
func (s topicSettings) refuse(topics Topics) error {
	var faults []error
	for _, plan := range plans(topics, 1) {
		policy, told := s[plan.name]["cleanup.policy"]
		if !told {
			continue
		}
		kept := strings.Split(strings.ReplaceAll(policy, " ", ""), ",")
		compacts := slices.Contains(kept, "compact")
		want := ""
		switch plan.name {
		case topics.State, topics.Changelog:
			if !compacts || slices.Contains(kept, "delete") {
				want = "compact alone, or circuits are forgotten when their records grow old"
			}
		case topics.Outcomes, topics.Signals:
			if compacts {
				want = "delete, or only the newest record of a circuit is counted"
			}
		}
		if want != "" {
			faults = append(faults, fmt.Errorf("%w: %s has cleanup.policy=%s and must have %s: "+
				"`fusebox topics check` says how to mend it", ErrTopics, plan.name, policy, want))
		}
	}
	return together(faults)
}

const (
	ownMost      = 16 << 20  // Of a record that Fusebox writes; what the topics are made for.
	unknownLimit = 1_000_012 // Of a batch, where a topic does not tell: what every broker takes by default.
)

// limit returns how large a batch of a topic may be, and so a record alone.
func (s topicSettings) limit(topic string) int32 {
	limit, err := strconv.ParseInt(s[topic]["max.message.bytes"], 10, 32)
	if err != nil || limit < 1 {
		return unknownLimit
	}
	const least = 1024 // The client refuses to start with less.
	return int32(min(max(limit, least), ownMost))
}

// keepsTombstones is how long a topic keeps them where it cannot be asked: Kafka's own default.
const keepsTombstones = 24 * time.Hour

// tombstonesKept returns how long a topic keeps tombstones.
func (s topicSettings) tombstonesKept(topic string) time.Duration {
	if ms, err := strconv.ParseInt(s[topic]["delete.retention.ms"], 10, 64); err == nil && ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	return keepsTombstones
}
