package main

import (
	"io"
	"log/slog"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/plugin/kslog"
)

// logger returns what writes log lines in the form and from the level that the user asked for.
func (c config) logger(w io.Writer) *slog.Logger { return c.loggerFrom(w, c.LogLevel) }

// liveLogger is logger from a level that can be changed while it runs, as this configuration then has it.
func (c *config) liveLogger(w io.Writer) *slog.Logger {
	c.level = new(slog.LevelVar)
	c.level.Set(c.LogLevel)
	return c.loggerFrom(w, c.level)
}

func (c config) loggerFrom(w io.Writer, level slog.Leveler) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// kafkaLogger returns the log of the Kafka client, of which only warnings are shown unless the user asked for debug,
// and of a command that soon ends nothing.
func (c config) kafkaLogger() kgo.Logger {
	if c.oneShot && c.LogLevel > slog.LevelDebug {
		return kslog.New(slog.New(slog.DiscardHandler))
	}
	level := slog.LevelWarn
	if c.LogLevel <= slog.LevelDebug {
		level = c.LogLevel
	}
	quiet := c
	quiet.LogLevel = max(level, c.LogLevel)
	return kslog.New(quiet.logger(os.Stderr).With("from", "kafka client"))
}
