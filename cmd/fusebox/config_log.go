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
	c.level, c.told = new(slog.LevelVar), newAlreadyTold()
	c.level.Set(c.LogLevel)
	return c.loggerFrom(w, c.level)
}

func (c config) loggerFrom(w io.Writer, level slog.Leveler) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	var handler slog.Handler = slog.NewTextHandler(w, options)
	if c.LogFormat == "json" {
		handler = slog.NewJSONHandler(w, options)
	}
	if c.told == nil {
		c.told = newAlreadyTold()
	}
	return slog.New(sparing{handler, "", c.told})
}

// kafkaLogger returns the log of the Kafka client, of which only warnings are shown unless the user asked for debug,
// and of a command that soon ends nothing.
func (c config) kafkaLogger() kgo.Logger {
	if c.oneShot && c.LogLevel > slog.LevelDebug {
		return kslog.New(slog.New(slog.DiscardHandler))
	}
	level := kafkaLevel{c.LogLevel}
	if c.level != nil {
		level.asked = c.level
	}
	return kslog.New(c.loggerFrom(os.Stderr, level).With("from", "kafka client"))
}

// kafkaLevel is the least level of the Kafka client's lines where a level was asked for.
type kafkaLevel struct{ asked slog.Leveler }

// Level returns it.
func (k kafkaLevel) Level() slog.Level {
	if level := k.asked.Level(); level <= slog.LevelDebug {
		return level
	}
	return max(k.asked.Level(), slog.LevelWarn)
}
