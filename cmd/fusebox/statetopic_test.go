package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/schemas"
)

const testStates = "states"

// stateWriter returns a client that writes to a state topic of one partition, in transactions.
func stateWriter(t *testing.T) *kgo.Client {
	t.Helper()
	cluster := kafkatest.NewLoopback(t)
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.TransactionalID("writer"),
		kgo.DefaultProduceTopic(testStates))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if _, err := kadm.NewClient(client).CreateTopic(t.Context(), 1, 1, nil, testStates); err != nil {
		t.Fatal(err)
	}
	return client
}

// writeStates writes states in one transaction, of which end tells how it ends: nil leaves it open. A state without a
// Born is a tombstone.
func writeStates(t *testing.T, client *kgo.Client, end *kgo.TransactionEndTry, states ...schemas.State) {
	t.Helper()
	if err := client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	for _, s := range states {
		record := &kgo.Record{Key: []byte(s.Circuit)}
		if !s.Born.IsZero() {
			record.Value = schemas.AppendState(nil, &s)
		}
		if err := client.ProduceSync(t.Context(), record).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	if end == nil {
		return
	}
	if err := client.EndTransaction(t.Context(), *end); err != nil {
		t.Fatal(err)
	}
}

func stateOf(circuit string, sequence int64) schemas.State {
	born := time.Date(2026, 9, 14, 12, 0, 0, 0, time.UTC)
	return schemas.State{Circuit: circuit, Sequence: sequence, Born: born, Enforced: true}
}

func TestReadStateTopic(t *testing.T) {
	client := stateWriter(t)
	commit, abort := new(kgo.TryCommit), new(kgo.TryAbort)
	writeStates(t, client, commit, stateOf("a", 1), stateOf("b", 1), stateOf("gone", 1))
	writeStates(t, client, commit, stateOf("a", 3), schemas.State{Circuit: "gone"})
	writeStates(t, client, commit, stateOf("a", 2))
	writeStates(t, client, abort, stateOf("a", 9), stateOf("never", 1))
	reader, err := kgo.NewClient(kgo.SeedBrokers(client.OptValue(kgo.SeedBrokers).([]string)...))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	read, err := readStateTopic(ctx, reader, testStates)
	if err != nil {
		t.Fatal(err)
	}
	if len(read.circuits) != 2 || read.circuits["a"].Sequence != 3 || read.circuits["b"].Sequence != 1 {
		t.Errorf("readStateTopic = %v, want a at sequence 3 and b at 1", read.circuits)
	}

	writeStates(t, client, nil, stateOf("b", 2))
	ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	read, err = readStateTopic(ctx, reader, testStates)
	if err == nil || !strings.Contains(err.Error(), "a transaction that is still open hides what follows") {
		t.Errorf("readStateTopic behind an open transaction = %v, %v, want an error that names it", read, err)
	}
}

func TestNearNames(t *testing.T) {
	read := stateTopic{circuits: map[string]known{
		"extraction:gpt:v4": {}, "extraction:gpt:v3": {}, "other": {}, "chat:gpt:v4:acme": {},
	}}
	tests := []struct{ name, want string }{
		{"extraction:gpt:v5", "extraction:gpt:v3 extraction:gpt:v4"},
		{"extractoin:gpt:v4", "extraction:gpt:v4 extraction:gpt:v3"},
		{"acme", "chat:gpt:v4:acme"},
		{"nothing-like-it", ""},
	}
	for _, tt := range tests {
		if got := strings.Join(read.near(tt.name, 3), " "); got != tt.want {
			t.Errorf("near(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestMatchingIsWorstFirst(t *testing.T) {
	noon := time.Date(2026, 9, 14, 12, 0, 0, 0, time.UTC)
	read := stateTopic{circuits: make(map[string]known)}
	put := func(name string, phase schemas.Phase, degraded bool, changed time.Time) {
		s := schemas.State{Circuit: name, State: phase, ChangedAt: changed, Policy: "p"}
		if degraded {
			s.Degraded = &schemas.Cause{Rule: "r"}
		}
		read.circuits[name] = known{State: s}
	}
	put("well", schemas.Closed, false, noon)
	put("limping", schemas.Closed, true, noon)
	put("off", schemas.Disabled, false, noon)
	put("held-closed", schemas.ForcedClosed, false, noon)
	put("held-open", schemas.ForcedOpen, false, noon)
	put("testing", schemas.HalfOpen, false, noon)
	put("down-long", schemas.Open, false, noon)
	put("down-new", schemas.Open, false, noon.Add(time.Minute))
	ended := read.circuits["held-open"]
	ended.Circuit = "ended"
	ended.Override = &schemas.OverrideInForce{
		Mode: schemas.ForceOpen, Then: schemas.Open, Until: noon.Add(-time.Second),
	}
	read.circuits["ended"] = ended

	tests := []struct {
		filter statusFilter
		want   string
	}{
		{statusFilter{}, "down-new down-long ended testing held-open limping held-closed off well"},
		{statusFilter{match: "down-*"}, "down-new down-long"},
		{statusFilter{state: "degraded"}, "limping"},
		{statusFilter{state: "forced_open"}, "held-open"},
	}
	for _, tt := range tests {
		var names []string
		for _, k := range read.matching(tt.filter, noon.Add(time.Minute)) {
			names = append(names, k.Circuit)
		}
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("matching(%+v) = %q, want %q", tt.filter, got, tt.want)
		}
	}
}
