package kafka

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Report tells whether the processor is ready, and what is missing.
type Report struct {
	Ready      bool              `json:"ready"`
	Joined     bool              `json:"joined"` // Every worker is a member of the group.
	Partitions []PartitionReport `json:"partitions"`
	Missing    []string          `json:"missing,omitempty"`  // What keeps it from being ready, in words.
	Degraded   []string          `json:"degraded,omitempty"` // What is wrong with the store.
	Refused    *RefusedFile      `json:"refused,omitempty"`  // Of policies; it is ready all the same.
}

// PartitionReport tells how far one partition is.
type PartitionReport struct {
	Partition int32  `json:"partition"`
	Worker    string `json:"worker"`
	Phase     string `json:"phase"`
	Done      int64  `json:"done"`  // Records that this phase has read: of the changelog, then of the outcomes.
	Total     int64  `json:"total"` // How many there were when the phase began.
	Problem   string `json:"problem,omitempty"`
}

// status is what the workers say of themselves, for others to read.
type status struct {
	mu       sync.Mutex
	joined   map[string]bool
	restarts map[string]string // Why a worker's last session ended.
	failures map[string]string // Why its last transactions failed, where several did in a row.
	parts    map[int32]*PartitionReport
	remains  func(partition int32, records int64)
}

func newStatus(remains func(int32, int64)) *status {
	return &status{joined: map[string]bool{}, restarts: map[string]string{}, failures: map[string]string{},
		parts: map[int32]*PartitionReport{}, remains: remains}
}

func (s *status) join(worker string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.joined[worker] = true
	delete(s.restarts, worker)
}

func (s *status) left(worker string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.joined, worker)
}

func (s *status) restart(worker string, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restarts[worker] = fmt.Sprint(why)
}

func (s *status) failing(worker string, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures[worker] = why.Error()
}

// getsOn notes that a worker gets on: it has committed, or has nothing to commit.
func (s *status) getsOn(worker string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.failures, worker)
}

func (s *status) phase(partition int32, worker string, now phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts[partition] = &PartitionReport{Partition: partition, Worker: worker, Phase: now.String()}
}

// worker returns the worker that has a partition, "" where none does.
func (s *status) worker(partition int32) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.parts[partition]; p != nil {
		return p.Worker
	}
	return ""
}

// pairs returns how many pairs the process has.
func (s *status) pairs() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.parts)
}

func (s *status) gone(partition int32, worker string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.parts[partition]; p != nil && p.Worker == worker {
		delete(s.parts, partition)
	}
}

func (s *status) problem(partition int32, err error) { s.problemText(partition, err.Error()) }

func (s *status) problemText(partition int32, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.parts[partition]; p != nil {
		p.Problem = text
	}
}

// restores notes how many records of the changelog a restore has read, and of how many. It moves, so nothing keeps it.
func (s *status) restores(partition int32, done, total int64) {
	s.remains(partition, total-done)
	s.progress(partition, done, total)
	s.problemText(partition, "")
}

// progress notes how far a partition is in its phase.
func (s *status) progress(partition int32, done, total int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.parts[partition]; p != nil {
		p.Done, p.Total = done, total
	}
}

// String says how far the partition is, for a person.
func (p PartitionReport) String() string {
	text := p.Phase
	switch p.Phase {
	case restoring.String():
		text += ": " + p.share() + " records of its memory are read"
	case catchingUp.String():
		text += ": " + p.share() + " outcomes that had piled up are handled"
	}
	if p.Problem != "" {
		text += ": " + p.Problem
	}
	return text
}

func (p PartitionReport) share() string {
	return fmt.Sprintf("%d of %d (%d%%)", p.Done, p.Total, 100*p.Done/max(p.Total, 1))
}

// Ready tells whether every worker has joined the group and every partition it was given is restored and caught up.
func (l *Loop) Ready() Report {
	s := l.status
	s.mu.Lock()
	defer s.mu.Unlock()
	r := Report{Joined: len(s.joined) == l.config.Workers, Refused: l.refused.Load()}
	if !r.Joined {
		r.Missing = append(r.Missing,
			fmt.Sprintf("%d of %d workers have joined the group", len(s.joined), l.config.Workers))
	}
	for _, worker := range slices.Sorted(maps.Keys(s.restarts)) {
		r.Missing = append(r.Missing, fmt.Sprintf("worker %s begins anew: %s", worker, s.restarts[worker]))
	}
	for _, worker := range slices.Sorted(maps.Keys(s.failures)) {
		r.Missing = append(r.Missing, fmt.Sprintf("worker %s does not get on: %s", worker, s.failures[worker]))
	}
	for _, id := range slices.Sorted(maps.Keys(s.parts)) {
		p := *s.parts[id]
		r.Partitions = append(r.Partitions, p)
		if p.Phase != running.String() || p.Problem != "" {
			r.Missing = append(r.Missing, fmt.Sprintf("partition %d is %s", id, p))
		}
	}
	if store := l.opened.Load(); store != nil {
		if err := store.Stats().LastError; err != nil {
			r.Degraded = append(r.Degraded, fmt.Sprintf("the store cannot write, all stays in memory: %v", err))
		}
	}
	r.Ready = len(r.Missing) == 0 && len(r.Degraded) == 0
	return r
}
