package kafka

import (
	"context"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kgo"
)

// clientLog lets franz-go log through slog. What it tells at its level of info is for those who look for a fault in it,
// so it is debug here.
type clientLog struct{ log *slog.Logger }

// Level returns the finest level that is logged.
func (c clientLog) Level() kgo.LogLevel {
	ctx := context.Background()
	switch {
	case c.log.Enabled(ctx, slog.LevelDebug):
		return kgo.LogLevelInfo
	case c.log.Enabled(ctx, slog.LevelWarn):
		return kgo.LogLevelWarn
	}
	return kgo.LogLevelError
}

// Log logs one line of the client.
func (c clientLog) Log(level kgo.LogLevel, message string, pairs ...any) {
	to := slog.LevelDebug
	switch level {
	case kgo.LogLevelError:
		to = slog.LevelError
	case kgo.LogLevelWarn:
		to = slog.LevelWarn
	}
	c.log.Log(context.Background(), to, message, pairs...)
}
