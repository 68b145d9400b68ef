package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestRestartCompacts writes one key a thousand times and finds the last values alone after a restart, also where a
// kill came at any place in the restart before.
func TestRestartCompacts(t *testing.T) {
	const writes = 1000
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := filepath.Join(t.TempDir(), "broker")
	b := startTestBroker(t, dir)
	client, err := kgo.NewClient(kgo.SeedBrokers(b.addr), kgo.DefaultProduceTopic("kept"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	settings := map[string]*string{"cleanup.policy": kadm.StringPtr("compact")}
	if _, err := kadm.NewClient(client).CreateTopic(ctx, 1, 1, settings, "kept"); err != nil {
		t.Fatal(err)
	}
	for i := range writes {
		record := &kgo.Record{Key: []byte("k"), Value: fmt.Appendf(nil, "%d", i+1)}
		if err := client.ProduceSync(ctx, record).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}

	tests := []struct {
		name string
		kill func(dir string) error // What a killed start left.
	}{
		{"no kill", func(string) error { return nil }},
		{"half a new tree", func(dir string) error {
			return os.CopyFS(dir+".next", os.DirFS(filepath.Join(dir, "partitions")))
		}},
		{"the old tree moved away", func(dir string) error { return os.Rename(dir, dir+".old") }},
		{"the old tree not removed", func(dir string) error { return os.CopyFS(dir+".old", os.DirFS(dir)) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			copied := filepath.Join(t.TempDir(), "broker")
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			if err := tt.kill(copied); err != nil {
				t.Fatal(err)
			}
			restarted := startTestBroker(t, copied)
			reader, err := kgo.NewClient(kgo.SeedBrokers(restarted.addr))
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			var values []string
			starts, err := kadm.NewClient(reader).ListStartOffsets(ctx, "kept")
			if err != nil {
				t.Fatal(err)
			}
			r := partitionReader{client: reader, topic: "kept", position: starts["kept"][0].Offset}
			err = r.readTo(ctx, writes, func(r *kgo.Record) { values = append(values, string(r.Value)) })
			if err != nil || len(values) != 2 || values[1] != "1000" { // The last batch is never looked at.
				t.Errorf("after the restart the topic holds %d values, %.10q, %v, want the last two",
					len(values), values, err)
			}
			for _, rest := range []string{".next", ".old"} {
				if _, err := os.Stat(copied + rest); err == nil {
					t.Errorf("%s is left", filepath.Base(copied+rest))
				}
			}
		})
	}
}
