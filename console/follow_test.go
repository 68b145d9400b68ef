//go:build synctests

package console_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fusebox-project/fusebox/console"
	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

// TestTroubleIsToldOnce leaves a console without its topics for five minutes: it says so, and not every two seconds.
func TestTroubleIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c, err := console.New(console.Config{
			Client: kafkatest.New(t).Opts(), Topics: topics, Instance: "a",
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		c.Run(ctx)
		for _, topic := range []string{topics.State, topics.Transitions} {
			if n := strings.Count(log.String(), topic); n < 1 || n > 7 {
				t.Errorf("%s is named in %d lines of the log in five minutes, want one a minute:\n%s", topic, n, &log)
			}
		}
	})
}
