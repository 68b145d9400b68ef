package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/processor/kafka"
)

// removeWithin is how long a bench may take to delete what it made.
const removeWithin = 30 * time.Second

// benchSite is what a bench makes on a cluster, and nobody else uses.
type benchSite struct {
	prefix string
	topics kafka.Topics
	group  string
	admin  *kadm.Client
}

// newBenchSite finds names that are free, or makes sure that a given one is.
func newBenchSite(ctx context.Context, client *kgo.Client, name string) (*benchSite, error) {
	if name == "" {
		name = fmt.Sprintf("%s%08x", kafka.BenchPrefix, rand.Uint32())
	}
	s := &benchSite{
		prefix: name + ".", topics: kafka.TopicsWithPrefix(name + "."), group: name, admin: kadm.NewClient(client),
	}
	found, err := s.admin.ListTopics(ctx, s.names()...)
	if err != nil {
		return nil, fmt.Errorf("ask for topics %s*: %w", s.prefix, err)
	}
	for _, topic := range s.names() {
		switch err := found[topic].Err; {
		case err == nil:
			return nil, usageErrorf("--name %s: topic %s is there already; a bench works with topics of its own alone",
				name, topic)
		case !errors.Is(err, kerr.UnknownTopicOrPartition):
			return nil, fmt.Errorf("ask for topic %s: %w", topic, err)
		}
	}
	groups, err := s.admin.ListGroups(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask for groups: %w", err)
	}
	if _, there := groups[s.group]; there {
		return nil, usageErrorf("--name %s: a group of that name is there already; a bench works with one of its own",
			name)
	}
	return s, nil
}

func (s *benchSite) names() []string {
	t := s.topics
	return []string{t.Outcomes, t.Signals, t.State, t.Transitions, t.Changelog, t.DeadLetters}
}

// remove deletes the topics and the group. What cannot be deleted is named.
func (s *benchSite) remove(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, removeWithin)
	defer cancel()
	var faults []error
	deleted, err := s.admin.DeleteTopics(ctx, s.names()...)
	faults = append(faults, err)
	for _, topic := range s.names() {
		if answer, ok := deleted[topic]; ok && !errors.Is(answer.Err, kerr.UnknownTopicOrPartition) {
			faults = append(faults, answer.Err)
		}
	}
	faults = append(faults, s.removeGroup(ctx))
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("delete the topics %s* and the group %s, which may be left: %w", s.prefix, s.group, err)
	}
	fmt.Fprintf(out, "deleted the topics %s* and the group %s\n", s.prefix, s.group)
	return nil
}

// removeGroup deletes the group, once nobody is in it any more: members that could not leave go with their sessions.
func (s *benchSite) removeGroup(ctx context.Context) error {
	for {
		answer, err := s.admin.DeleteGroup(ctx, s.group)
		if err == nil {
			err = answer.Err
		}
		switch {
		case errors.Is(err, kerr.GroupIDNotFound):
			return nil
		case !errors.Is(err, kerr.NonEmptyGroup) || ctx.Err() != nil:
			return err
		}
		pause(ctx, 250*time.Millisecond)
	}
}
