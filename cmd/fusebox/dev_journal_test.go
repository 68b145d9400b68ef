package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// startTestBroker starts a broker in this process on a directory.
func startTestBroker(t *testing.T, dir string) *devBroker {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b, err := startBroker(dir, listener, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// TestTornEndIsTakenBack kills a broker, as far as its files can tell, at every kind of place in the end of the second
// transaction: when nothing, when some markers, when all of them and not the last entry, and when all was written.
func TestTornEndIsTakenBack(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir, before := filepath.Join(t.TempDir(), "broker"), filepath.Join(t.TempDir(), "before")
	b := startTestBroker(t, dir)
	settledNumber(ctx, t, b.addr, true)
	client, err := kgo.NewClient(kgo.SeedBrokers(b.addr), kgo.TransactionalID("killed"), kgo.ProducerLinger(0),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	topics, err := kadm.NewClient(client).ListTopics(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := commitNumber(ctx, client, topics["a"].ID, 1); err != nil {
		t.Fatal(err)
	}
	b.Control(func(request kmsg.Request) (kmsg.Response, error, bool) { //nolint:revive // The broker's form.
		if _, isEnd := request.(*kmsg.EndTxnRequest); isEnd {
			if err := os.CopyFS(before, os.DirFS(dir)); err != nil {
				t.Errorf("copy the broker's files: %v", err)
			}
		}
		return nil, nil, false
	})
	if err := commitNumber(ctx, client, topics["a"].ID, 2); err != nil {
		t.Fatal(err)
	}
	after := filepath.Join(t.TempDir(), "after")
	if err := os.CopyFS(after, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}

	tests := []struct {
		name    string
		written func(path string) bool // Which files the end of the second transaction got to.
		want    int
	}{
		{"nothing written", func(string) bool { return false }, 1},
		{"some markers", func(path string) bool { return strings.Contains(path, "a-") }, 1},
		{"a batch without its index entry", func(path string) bool { return strings.HasSuffix(path, ".dat") }, 1},
		{"all but the last entry", func(path string) bool { return path != producerLog }, 1},
		{"all of it", func(string) bool { return true }, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			torn := filepath.Join(t.TempDir(), "torn")
			mix(t, torn, before, after, tt.written)
			restarted := startTestBroker(t, torn)
			if got := settledNumber(ctx, t, restarted.addr, false); got != tt.want {
				t.Errorf("%d is committed after the restart, want %d", got, tt.want)
			}
		})
	}
}

// mix makes a directory of the files of before, save those that were written, which are of after.
func mix(t *testing.T, dir, before, after string, written func(path string) bool) {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS(before)); err != nil {
		t.Fatal(err)
	}
	sizes, err := fileSizes(after)
	if err != nil {
		t.Fatal(err)
	}
	for path := range sizes {
		if !written(path) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(after, path))
		if err := errors.Join(err, os.WriteFile(filepath.Join(dir, path), text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestListenDev(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	addr := taken.Addr().String()
	d := &dev{broker: addr, data: t.TempDir()}
	other := listenAs(t, d)
	if other == addr {
		t.Fatalf("listen at %s, which is taken, want another port", addr)
	}
	if again := listenAs(t, d); again != other {
		t.Errorf("listen a second time on the same data at %s, want %s as the first time", again, other)
	}
	blocker, err := net.Listen("tcp", other)
	if err != nil {
		t.Fatal(err)
	}
	defer blocker.Close()
	if third := listenAs(t, d); third == other {
		t.Errorf("listen at %s, which is taken now, want a third port", third)
	}
	d.asked = true
	if _, err := d.listen(); err == nil {
		t.Errorf("listen at %s, which was asked for and is taken, succeeds, want an error", addr)
	}
	for _, bad := range []string{"", "9092", ":9092", "0.0.0.0:9092", "[::]:9092"} {
		var status *statusError
		if err := checkJoinable(bad); !errors.As(err, &status) || status.status != exitUsage {
			t.Errorf("checkJoinable(%q) = %v, want a usage error", bad, err)
		}
	}
}

// listenAs lets a dev listen, ends that, and returns where it was.
func listenAs(t *testing.T, d *dev) string {
	t.Helper()
	listener, err := d.listen()
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func TestWarnAddress(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := taken.Addr().String()
	warned := func(d dev, broker string) string {
		var out strings.Builder
		d.errOut = &out
		d.warnAddress(broker)
		return strings.TrimSpace(out.String())
	}
	const other = "127.0.0.1:36509"
	want := addr + " is taken by another program: " +
		"set FUSEBOX_BROKERS=127.0.0.1:36509 for all other commands"
	if got := warned(dev{broker: addr}, other); got != want {
		t.Errorf("warnAddress where it is taken says %q, want %q", got, want)
	}
	if got := warned(dev{broker: addr}, addr) + warned(dev{broker: other, asked: true}, other); got != "" {
		t.Errorf("warnAddress where clients find the broker, or were told, says %q, want nothing", got)
	}
	taken.Close()
	if got := warned(dev{broker: addr}, other); !strings.HasPrefix(got, "the broker listens where it did") {
		t.Errorf("warnAddress where the port of the last time was taken again says %q, want that", got)
	}
}
