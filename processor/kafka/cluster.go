package kafka

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fusebox-project/fusebox/internal/offsets"
)

// ErrTopics says that the topics are not as they have to be: nothing may start, or go on.
var ErrTopics = errors.New("the topics are not as they have to be")

// cluster is what the workers of a process share to ask Kafka with: a client outside the group and outside any
// transaction, and what it learned at the start about the topics.
type cluster struct {
	client *kgo.Client
	admin  *kadm.Client
	topics Topics
	group  string
	adds   bool // See addsByItself.
	layout

	settings atomic.Pointer[topicSettings] // As last learned.
}

// layout is what there is of the topics.
type layout struct {
	id          string                  // The cluster's.
	partitions  int32                   // Of every topic but the dead letters.
	deadLetters int32                   // Partitions of the dead letters.
	rawIDs      map[string]kadm.TopicID // By name.
	topicIDs    map[string]string       // By name, in Kafka's own form.
}

// connect reaches the cluster, however long that takes, and looks at the topics. It fails where one is missing, where
// their numbers of partitions differ, or where one would lose what is needed or keep only the newest of what all
// counts. It tells what makes it ask again.
func connect(ctx context.Context, topics Topics, group string, opts []kgo.Opt, tell func(error)) (*cluster, error) {
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("make the Kafka client: %w", err)
	}
	k := &cluster{client: client, admin: kadm.NewClient(client), topics: topics, group: group}
	k.layout, err = k.inspectNew(ctx, tell)
	if err == nil {
		err = k.learnSettings(ctx).refuse(topics)
	}
	if err != nil {
		client.Close()
		return nil, err
	}
	k.adds = k.addsByItself(ctx)
	return k, nil
}

// newTopicsWithin is how long brokers may take to know of topics that have just been made.
const newTopicsWithin = 3 * time.Second

// inspectNew reads what there is of the topics, as soon as a broker says. It gives those that are not as they should
// be some time to become so: not every broker knows at once of a topic that another one has made.
func (k *cluster) inspectNew(ctx context.Context, tell func(error)) (layout, error) {
	for began := time.Now(); ; {
		found, err := k.inspect(ctx)
		switch {
		case err == nil, errors.Is(err, ErrTopics) && time.Since(began) > newTopicsWithin, !transient(err):
			return found, err
		case !errors.Is(err, ErrTopics):
			tell(err)
		}
		select {
		case <-ctx.Done():
			return found, err
		case <-time.After(retryAfter):
		}
	}
}

// check looks at the topics once more. The error is an ErrTopics where they are not what they were at the start.
func (k *cluster) check(ctx context.Context) error {
	now, err := k.inspect(ctx)
	if err != nil {
		return err
	}
	k.learnSettings(ctx)
	for name, id := range k.topicIDs {
		if now.topicIDs[name] != id {
			return fmt.Errorf("%w: topic %s was deleted and created again", ErrTopics, name)
		}
	}
	if now.partitions != k.partitions {
		return fmt.Errorf("%w: they had %d partitions and have %d", ErrTopics, k.partitions, now.partitions)
	}
	return nil
}

// strangers returns an ErrTopics where somebody follows other topics in the same group: who leads a group plans his own
// topics alone, so those of the others would be nobody's. Members that left their names to this process do not count.
func (k *cluster) strangers(ctx context.Context, own []string) error {
	ctx, cancel := context.WithTimeout(ctx, beatEvery)
	defer cancel()
	described, err := k.admin.DescribeGroups(ctx, k.group)
	if err != nil {
		return fmt.Errorf("describe group %s: %w", k.group, err)
	}
	for _, member := range described[k.group].Members {
		subscription, known := member.Join.AsConsumer()
		if !known || member.InstanceID != nil && slices.Contains(own, *member.InstanceID) {
			continue
		}
		for _, topic := range subscription.Topics {
			if topic != k.topics.Outcomes && topic != k.topics.Signals {
				return fmt.Errorf("%w: %s on %s is in group %s and follows %s, where this process is to follow %s: "+
					"a group is for one set of topics; give this process a FUSEBOX_GROUP of its own", ErrTopics,
					member.ClientID, member.ClientHost, k.group, topic, k.topics.Outcomes)
			}
		}
	}
	return nil
}

// allGiven tells whether each partition is somebody's in the group, or is to be after the join round under way.
func (k *cluster) allGiven(ctx context.Context) (bool, error) {
	described, err := k.admin.DescribeGroups(ctx, k.group)
	if err == nil {
		err = described.Error()
	}
	if err != nil {
		return false, fmt.Errorf("describe group %s: %w", k.group, err)
	}
	group := described[k.group]
	given := len(group.AssignedPartitions()[k.topics.Outcomes])
	return group.State != "Stable" || given == int(k.partitions), nil
}

// inspect reads what there is of the topics.
func (k *cluster) inspect(ctx context.Context) (layout, error) {
	var names []string
	for _, t := range k.topics.named() {
		names = append(names, t.name)
	}
	// Asked for what we are authorized to do, the client does not answer from what it knows already.
	found, err := k.admin.Metadata(kadm.WithAuthorizedOps(ctx), names...)
	if err != nil {
		return layout{}, fmt.Errorf("ask the brokers for the topics: %w", err)
	}
	l := layout{id: found.Cluster, topicIDs: map[string]string{}, rawIDs: map[string]kadm.TopicID{}}
	var faults []error
	for _, t := range k.topics.named() {
		faults = append(faults, l.note(t, found.Topics[t.name], k.topics))
	}
	return l, together(faults)
}

// together returns faults as one error. Those that are an ErrTopics are one, too, with a line each.
func together(faults []error) error {
	var wrong []string
	others := make([]error, 1, len(faults)+1)
	for _, fault := range faults {
		if errors.Is(fault, ErrTopics) {
			wrong = append(wrong, strings.TrimPrefix(fault.Error(), ErrTopics.Error()+": "))
		} else {
			others = append(others, fault)
		}
	}
	switch len(wrong) {
	case 0:
	case 1:
		others[0] = fmt.Errorf("%w: %s", ErrTopics, wrong[0])
	default:
		others[0] = fmt.Errorf("%w:\n  %s", ErrTopics, strings.Join(wrong, "\n  "))
	}
	return errors.Join(others...)
}

// note takes down one topic.
func (l *layout) note(t use, found kadm.TopicDetail, topics Topics) error {
	count := int32(len(found.Partitions))
	l.topicIDs[t.name], l.rawIDs[t.name] = base64.RawURLEncoding.EncodeToString(found.ID[:]), found.ID
	switch {
	case errors.Is(found.Err, kerr.UnknownTopicOrPartition) || found.Err == nil && count == 0:
		return fmt.Errorf("%w: topic %s for %s does not exist: `fusebox topics create` makes it",
			ErrTopics, t.name, t.use)
	case found.Err != nil:
		return fmt.Errorf("look at topic %s for %s: %w", t.name, t.use, found.Err)
	case t.name == topics.DeadLetters:
		l.deadLetters = count
	case l.partitions == 0:
		l.partitions = count
	case l.partitions != count:
		return fmt.Errorf("%w: %s has %d partitions and %s has %d, where they must have the same number: "+
			"`fusebox topics check` says what to do", ErrTopics, t.name, count, topics.Outcomes, l.partitions)
	}
	return nil
}

// ends returns the ends of partitions of a topic: the high watermarks, or the last stable offsets, up to which a
// read_committed reader gets.
func (k *cluster) ends(ctx context.Context, topic string, partitions []int32, stable bool) (map[int32]int64, error) {
	return k.list(ctx, topic, partitions, -1, stable)
}

// starts returns where the log of partitions of a topic begins.
func (k *cluster) starts(ctx context.Context, topic string, partitions []int32) (map[int32]int64, error) {
	return k.list(ctx, topic, partitions, -2, false)
}

// span returns where the log of a partition begins and ends. What may pass it asks again, and tells.
func (k *cluster) span(ctx context.Context, tell func(error), topic string, partition int32) (
	start, end int64, err error,
) {
	one := []int32{partition}
	starts, err := again(ctx, tell, func() (map[int32]int64, error) { return k.starts(ctx, topic, one) })
	if err != nil {
		return 0, 0, err
	}
	ends, err := again(ctx, tell, func() (map[int32]int64, error) { return k.ends(ctx, topic, one, false) })
	return starts[partition], ends[partition], err
}

// list asks the leaders of partitions for an offset: -1 stands for the end, -2 for the start.
func (k *cluster) list(ctx context.Context, topic string, partitions []int32, which int64, stable bool) (
	map[int32]int64, error,
) {
	request := listRequest(topic, partitions, which)
	if stable {
		request.IsolationLevel = 1
	}
	return listBy(ctx, k.client, request)
}

func listRequest(topic string, partitions []int32, which int64) *kmsg.ListOffsetsRequest {
	asked := kmsg.NewListOffsetsRequestTopic()
	asked.Topic = topic
	for _, p := range partitions {
		part := kmsg.NewListOffsetsRequestTopicPartition()
		part.Partition, part.Timestamp = p, which
		asked.Partitions = append(asked.Partitions, part)
	}
	request := kmsg.NewPtrListOffsetsRequest()
	request.ReplicaID = -1
	request.Topics = append(request.Topics, asked)
	return request
}

// listBy has a request for offsets of one topic answered. Beside an error are the offsets of the partitions that have
// none.
func listBy(ctx context.Context, by kmsg.Requestor, request *kmsg.ListOffsetsRequest) (map[int32]int64, error) {
	topic := request.Topics[0].Topic
	response, err := request.RequestWith(ctx, by)
	if err != nil {
		return nil, fmt.Errorf("list offsets of %s: %w", topic, err)
	}
	offsets, faults := map[int32]int64{}, []error(nil)
	for _, t := range response.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				faults = append(faults, fmt.Errorf("list offsets of %s/%d: %w", topic, p.Partition, err))
				continue
			}
			offsets[p.Partition] = p.Offset
		}
	}
	if asked := request.Topics[0].Partitions; faults == nil && len(offsets) != len(asked) {
		return offsets, fmt.Errorf("list offsets of %s: answer for %d of %d partitions",
			topic, len(offsets), len(asked))
	}
	return offsets, errors.Join(faults...)
}

// committed is what the group has committed for a pair of partitions.
type committed struct {
	outcomes, signals int64  // The next offsets; -1 where there is none.
	stamp             string // Of the transaction that committed them, see stamp.
}

// none tells whether nothing at all is committed.
func (c committed) none() bool { return c.outcomes < 0 && c.signals < 0 }

// offsets returns what the group has committed, once no transaction that could still change it is open.
func (k *cluster) offsets(ctx context.Context) (map[int32]committed, error) {
	found, err := offsets.Stable(ctx, k.admin, k.group, k.topics.Outcomes, k.topics.Signals)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return nil, err
	}
	all := make(map[int32]committed, k.partitions)
	for i := range k.partitions {
		all[i] = committed{outcomes: -1, signals: -1}
	}
	found.Each(func(o kadm.OffsetResponse) {
		c, known := all[o.Partition]
		if !known {
			return
		}
		switch o.Topic {
		case k.topics.Outcomes:
			c.outcomes, c.stamp = o.At, o.Metadata
		case k.topics.Signals:
			c.signals = o.At
		}
		all[o.Partition] = c
	})
	return all, nil
}

// leave takes static members out of the group, so that others need not wait for their sessions to time out. Some may
// not have joined yet, and where nobody has there is no group.
func (k *cluster) leave(ctx context.Context, members []string) error {
	left, err := k.admin.LeaveGroup(ctx, kadm.LeaveGroup(k.group).Reason("shut down").InstanceIDs(members...))
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return fmt.Errorf("leave group %s: %w", k.group, err)
	}
	var faults []error
	for _, member := range left {
		if member.Err != nil && !errors.Is(member.Err, kerr.UnknownMemberID) {
			faults = append(faults, fmt.Errorf("leave group %s as %s: %w", k.group, member.InstanceID, member.Err))
		}
	}
	return errors.Join(faults...)
}
