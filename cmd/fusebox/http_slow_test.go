//go:build synctests

package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// TestServeWaitsForNobody closes connections on which a request does not come to its end: after five seconds in its
// header, and after ten in its body.
func TestServeWaitsForNobody(t *testing.T) {
	for sent, want := range map[string]time.Duration{
		"GET / HTTP/1.1\r\nHost: localhost\r\n":                            5 * time.Second,
		"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n[": 10 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			var network kfake.VirtualNetwork
			const address = "localhost:8080"
			listener, err := network.Listen("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			read := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body) })
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- serve(ctx, listener, read, slog.New(slog.DiscardHandler)) }()
			ours, err := network.DialContext(ctx, "tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			io.WriteString(ours, sent)
			io.Copy(io.Discard, ours)
			if took := time.Since(begun); took != want {
				t.Errorf("the connection of %q ends after %v, want %v", sent, took, want)
			}
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("serve = %v", err)
			}
		})
	}
}
