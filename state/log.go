package state

import (
	"fmt"
	"log/slog"
	"strings"
)

// badgerLogger passes on what Badger says, its chatter at debug level.
type badgerLogger struct{ log *slog.Logger }

func (l badgerLogger) Errorf(format string, args ...any) {
	l.log.Error("badger", "says", say(format, args))
}
func (l badgerLogger) Warningf(format string, args ...any) {
	l.log.Warn("badger", "says", say(format, args))
}
func (l badgerLogger) Infof(format string, args ...any) {
	l.log.Debug("badger", "says", say(format, args))
}
func (l badgerLogger) Debugf(string, ...any) {} // several a transaction, formatted in vain

func say(format string, args []any) string { return strings.TrimSpace(fmt.Sprintf(format, args...)) }
