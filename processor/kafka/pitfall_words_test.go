//go:build synctests

package kafka

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

// TestPitfall38NothingQuoted sends a secret where prompts and keys turn up: as the reason of outcomes that trip a
// circuit, and in records that cannot be read. No topic of ours has a word of it, nor has the log at its finest.
func TestPitfall38NothingQuoted(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		const secret, circuit = "sk-live-0123456789", "case:route:v1"
		fine := &slog.HandlerOptions{Level: slog.LevelDebug}
		r := w.start(func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&w.log, fine)) }, nil)
		w.ready(r)
		put := func(topic, value string) {
			w.Produce(t, &kgo.Record{Topic: topic, Key: []byte(circuit), Value: []byte(value)})
		}
		for range 4 {
			put(topics.Outcomes, `{"kind":"invalid_contract","reason":"asked with `+secret+`"}`)
		}
		put(topics.Outcomes, secret)
		put(topics.Outcomes, `{"kind":["`+secret+`"]}`)
		put(topics.Outcomes, `{"`+secret+`":`)
		put(topics.Signals, `{"type":"`+secret+`"}`)
		put(topics.Outcomes, `{"kind":"accepted","reason":"`+secret+strings.Repeat("x", schemas.MaxRecord)+`"}`)
		w.await(circuit, func(st schemas.State) bool { return st.State == schemas.Open })
		w.caughtUp()
		time.Sleep(time.Minute)
		w.end(r)
		if n := len(w.letters()); n != 5 {
			t.Errorf("%d dead letters, want 5", n)
		}
		for _, topic := range []string{topics.State, topics.Transitions, topics.Changelog, topics.DeadLetters} {
			for _, record := range w.ReadCommitted(t, topic) {
				text := string(record.Key) + string(record.Value)
				for _, h := range record.Headers {
					text += string(h.Value)
				}
				if strings.Contains(text, secret) {
					t.Errorf("%s has the secret: %.200q", topic, text)
				}
			}
		}
		if log := w.log.String(); strings.Contains(log, secret) || !strings.Contains(log, "set aside") {
			t.Error("the log has the secret, or does not tell what was set aside")
		}
	})
}
