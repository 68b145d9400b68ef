package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/processor/kafka"
)

// TestDevEndsWithItsProcessor lets the processor fail while the demo waits for it.
func TestDevEndsWithItsProcessor(t *testing.T) {
	c, faults := readConfig(nil)
	if faults != nil {
		t.Fatal(faults)
	}
	c.Brokers = kafkatest.NewLoopback(t).ListenAddrs()
	c.DataDir = filepath.Join(t.TempDir(), "store")
	if err := os.WriteFile(c.DataDir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := &dev{out: io.Discard, errOut: io.Discard, log: slog.New(slog.DiscardHandler), demo: true}
	if err := d.createTopics(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err = d.work(ctx, c, breaker.Builtin(), web)
	if ctx.Err() != nil || err == nil {
		t.Errorf("dev whose processor cannot work ends with %v, and by its own: %v; want an error, and at once",
			err, ctx.Err() == nil)
	}
}

func TestOnce(t *testing.T) {
	other := errors.New("other")
	if got := once(other, "i"); got != other {
		t.Errorf("once(%v) = %v, want it as it is", other, got)
	}
	if got := once(nil, "i"); got != nil {
		t.Errorf("once(nil) = %v, want nil", got)
	}
	got := once(errors.Join(kafka.ErrTwice, kafka.ErrTwice), "host")
	want := `another process works under the same instance name, "host"; give each its own FUSEBOX_INSTANCE_ID`
	if got.Error() != want || !errors.Is(got, kafka.ErrTwice) {
		t.Errorf("once of two workers = %v, want %s", got, want)
	}
}

func TestProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if got := program(); got != os.Args[0] {
		t.Errorf("program() that is not on the PATH as fusebox = %q, want %q", got, os.Args[0])
	}
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "fusebox")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	if got := program(); got != "fusebox" {
		t.Errorf("program() that is on the PATH as fusebox = %q, want fusebox", got)
	}
}
