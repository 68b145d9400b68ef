package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

// TestTimeoutHoldsForTheWhole lets a broker fall silent at each request that reading the state topic takes.
func TestTimeoutHoldsForTheWhole(t *testing.T) {
	const timeout, most = time.Second / 2, reachTimeout - time.Second
	tests := []struct {
		silentAt kmsg.Key
		want     string
	}{
		{kmsg.ApiVersions, "no answer from a broker at "},
		{kmsg.Metadata, "no answer from a broker at "},
		{kmsg.ListOffsets, "ask for the start of fusebox.circuit-state.v1: "},
		{kmsg.Fetch, "partition 0: only at offset 0 of 1 when the time was over"},
	}
	for _, tt := range tests {
		t.Run(kmsg.NameForKey(int16(tt.silentAt)), func(t *testing.T) {
			silentBroker(t, tt.silentAt)
			began := time.Now()
			_, err := readStatus(t.Context(), timeout)
			if took := time.Since(began); err == nil || !strings.Contains(err.Error(), tt.want) || took > most {
				t.Errorf("readStatus(%v) = %v after %v, want %q within %v", timeout, err, took, tt.want, most)
			}
		})
	}
}

// TestPolicyDiffHasATimeoutToo tries the other command with the flag.
func TestPolicyDiffHasATimeoutToo(t *testing.T) {
	silentBroker(t, kmsg.Metadata)
	cmd := newPolicyDiffCommand()
	cmd.SetOut(io.Discard)
	cmd.SetArgs([]string{"builtin", "builtin", "--from-topic", "--timeout", "500ms"})
	began := time.Now()
	if err, took := cmd.ExecuteContext(t.Context()), time.Since(began); err == nil || took >= reachTimeout {
		t.Errorf("policy diff --timeout 500ms = %v after %v, want an error soon", err, took)
	}
}

// silentBroker makes a broker with one record in the state topic that answers nothing from a request on.
func silentBroker(t *testing.T, from kmsg.Key) {
	t.Helper()
	cluster := kafkatest.NewLoopback(t)
	t.Setenv("FUSEBOX_BROKERS", strings.Join(cluster.ListenAddrs(), ","))
	cluster.Create(t, 1, nil, "fusebox.circuit-state.v1")
	cluster.Produce(t, &kgo.Record{Topic: "fusebox.circuit-state.v1", Key: []byte("c"), Value: []byte("{}")})
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	cluster.ControlKey(int16(from), func(kmsg.Request) (kmsg.Response, error, bool) {
		<-ended
		return nil, errors.New("broken off"), true
	})
}
