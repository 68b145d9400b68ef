//go:build synctests

package console_test

import (
	"bufio"
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/fusebox-project/fusebox/console"
)

const bearer = "Authorization: Bearer "

// TestLogLevel changes what is logged while it runs. It is for operators alone.
func TestLogLevel(t *testing.T) {
	var log bytes.Buffer
	level := new(slog.LevelVar)
	change := func(c *console.Config) {
		c.Level, c.Logger = level, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))
	}
	inWorld(t, change, func(w *world) {
		const path = "/v1/log-level"
		put := func(token, body string) answer { return w.ask(0, "PUT", path, bearer+token+"\n\n"+body) }
		if a := w.ask(0, "GET", path, bearer+adminToken); a.status != 200 || a.at(t, "level") != "info" {
			t.Errorf("GET = %d %s, want info", a.status, a.body)
		}
		for _, tt := range []struct {
			token, body string
			status      int
			want        slog.Level
		}{
			{adminToken, `{"level":"debug"}`, 200, slog.LevelDebug},
			{apiToken, `{"level":"error"}`, 401, slog.LevelDebug},
			{adminToken, `{"level":"loud"}`, 422, slog.LevelDebug},
			{adminToken, `{"level":"error"}`, 200, slog.LevelError},
		} {
			a := put(tt.token, tt.body)
			if a.status != tt.status || level.Level() != tt.want {
				t.Errorf("PUT %s with %s = %d %s, and the level is %v, want %d, %v",
					tt.body, tt.token, a.status, a.body, level.Level(), tt.status, tt.want)
			}
		}
		if !strings.Contains(log.String(), "the log level is changed over HTTP") {
			t.Errorf("the log does not tell of the change:\n%s", &log)
		}
	})
}

// TestProfiles: they are for operators alone, and nobody's where no token is set.
func TestProfiles(t *testing.T) {
	for _, tt := range []struct {
		set, sent string
		want      int
	}{
		{adminToken, adminToken, 200}, {adminToken, apiToken, 401}, {adminToken, "", 401}, {"", "", 404},
	} {
		t.Run(fmt.Sprintf("%q of %q", tt.sent, tt.set), func(t *testing.T) {
			inWorld(t, func(c *console.Config) { c.AdminToken = tt.set }, func(w *world) {
				for _, path := range []string{"", "cmdline", "symbol", "goroutine?debug=1", "heap?debug=1"} {
					a := w.ask(0, "GET", "/debug/pprof/"+path, bearer+tt.sent)
					if a.status != tt.want || tt.want != 200 && len(a.body) > 300 {
						t.Errorf("GET %q = %d %.200s, want %d", path, a.status, a.body, tt.want)
					}
				}
			})
		})
	}
}

// TestSlowBody: one who begins a body and does not end it is told so in time, and so is one who sends too much.
func TestSlowBody(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		var network kfake.VirtualNetwork
		const address = "localhost:8080"
		listener, err := network.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		server := http.Server{Handler: w.consoles[0].Handler()}
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(listener) }()
		ours, err := network.DialContext(w.t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		fmt.Fprintf(ours, "POST /v1/outcomes HTTP/1.1\r\nHost: localhost\r\n%s%s\r\n"+
			"Content-Type: application/json\r\nContent-Length: 50\r\n\r\n[", bearer, apiToken)
		got, err := http.ReadResponse(bufio.NewReader(ours), nil)
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(begun)
		if got.StatusCode != http.StatusRequestTimeout || took < 4*time.Second || took > 6*time.Second {
			t.Errorf("a body that does not end = %s after %v, want 408 after 5s", got.Status, took)
		}
		ours.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		<-ended
	})
}
