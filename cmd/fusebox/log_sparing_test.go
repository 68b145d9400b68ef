package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestAnErrorThatGoesOnIsToldOnceAMinute: at once, then every minute with how many lines were withheld; and what says
// something new, or comes after a quiet minute, is told at once again.
func TestAnErrorThatGoesOnIsToldOnceAMinute(t *testing.T) {
	var out bytes.Buffer
	log := config{}.logger(&out)
	begin := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	say := func(log *slog.Logger, after time.Duration, level slog.Level, message string, args ...any) {
		r := slog.NewRecord(begin.Add(after), level, message, 0)
		r.Add(args...)
		if err := log.Handler().Handle(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(what string, lines int, text string) {
		t.Helper()
		if got := strings.Count(out.String(), "\n"); got != lines || !strings.Contains(out.String(), text) {
			t.Errorf("%s: %d lines, want %d, and %q in them:\n%s", what, got, lines, text, &out)
		}
		out.Reset()
	}
	for tenth := range 1800 {
		say(log, time.Duration(tenth)*time.Second/10, slog.LevelWarn, "no connection", "addr", "a:1")
	}
	expect("three minutes, ten lines a second", 3, "addr=a:1 withheld=599\n")

	second := func(n int) time.Duration { return 3*time.Minute + time.Duration(n)*time.Second }
	say(log, second(0), slog.LevelWarn, "no connection", "addr", "a:1")
	expect("the fourth minute", 1, "withheld=599")
	say(log, second(1), slog.LevelWarn, "no connection", "addr", "a:2")
	expect("another address", 1, "addr=a:2\n")
	say(log.With("worker", 1), second(2), slog.LevelWarn, "no connection", "addr", "a:2")
	expect("of another worker", 1, "worker=1")
	say(log, second(3), slog.LevelError, "disk full", "addr", "a:1")
	expect("another message", 1, "disk full")
	for i := range 100 {
		say(log, second(4), slog.LevelError, "not put in force", "fault", fmt.Sprint("policies.yaml:", i))
		say(log, second(4), slog.LevelInfo, "circuit opens", "circuit", "a")
	}
	expect("a hundred faults at once, and a hundred lines that are none", tellAtOnce+100, "policies.yaml:9\n")
	say(log, second(120), slog.LevelWarn, "no connection", "addr", "a:2")
	expect("after a quiet minute", 1, "addr=a:2\n")
}

// TestTheClientsLogIsSparing: all Kafka clients of a process go by what any of them has told, and by its level of now.
func TestTheClientsLogIsSparing(t *testing.T) {
	const message = "a line that a test of the log wants"
	var c config
	c.liveLogger(io.Discard)
	for range 5 {
		c.kafkaLogger().Log(kgo.LogLevelWarn, message, "addr", "a:1")
	}
	if g := c.told.by[message]; g == nil || g.withheld != 4 {
		t.Errorf("of five clients' lines these were told: %+v, want the first one alone", g)
	}
	client := c.kafkaLogger()
	for level, want := range map[slog.Level]kgo.LogLevel{
		slog.LevelDebug: kgo.LogLevelDebug, slog.LevelInfo: kgo.LogLevelWarn, slog.LevelError: kgo.LogLevelError,
	} {
		if c.level.Set(level); client.Level() != want {
			t.Errorf("the level of the client's log once it is to be %v = %v, want %v", level, client.Level(), want)
		}
	}
}
