package console

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// logLevel is the least level of log lines.
type logLevel struct {
	Level string `json:"level" enum:"debug,info,warn,error"`
}

type logLevelInput struct{ Body logLevel }

type logLevelOutput struct{ Body logLevel }

// registerLevel adds the level of the log, where it can be changed.
func (c *Console) registerLevel(api huma.API) {
	if c.config.Level == nil {
		return
	}
	admin := []map[string][]string{{adminScheme: {}}}
	now := func() *logLevelOutput {
		return &logLevelOutput{logLevel{strings.ToLower(c.config.Level.Level().String())}}
	}
	register(api, huma.Operation{
		OperationID: "get-log-level", Method: http.MethodGet, Path: "/v1/log-level",
		Summary: "The least level of this instance's log lines", Security: admin,
	}, func(context.Context, *struct{}) (*logLevelOutput, error) { return now(), nil })
	register(api, huma.Operation{
		OperationID: "set-log-level", Method: http.MethodPut, Path: "/v1/log-level",
		Summary:     "Change the least level of this instance's log lines",
		Description: "Until it ends: the next start has FUSEBOX_LOG_LEVEL again.",
		Security:    admin,
	}, func(_ context.Context, in *logLevelInput) (*logLevelOutput, error) {
		was := c.config.Level.Level()
		var level slog.Level
		_ = level.UnmarshalText([]byte(in.Body.Level)) // The names were checked.
		c.config.Level.Set(level)
		c.log.Log(context.Background(), max(was, level, slog.LevelInfo), "the log level is changed over HTTP",
			"from", was, "to", level)
		return now(), nil
	})
}

// registerProfiles adds Go's profiles of this process, for operators alone.
func (c *Console) registerProfiles(mux *http.ServeMux) {
	for path, handler := range map[string]http.HandlerFunc{
		"/debug/pprof/": pprof.Index, "/debug/pprof/cmdline": pprof.Cmdline, "/debug/pprof/profile": pprof.Profile,
		"/debug/pprof/symbol": pprof.Symbol, "/debug/pprof/trace": pprof.Trace,
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			if status, why := c.mayOperate(r.Header.Get("Authorization")); status != http.StatusOK {
				problem(w, status, why)
				return
			}
			handler(w, r)
		})
	}
}
