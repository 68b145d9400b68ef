//go:build unix

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOpenUntilDone reads named pipes: of one that somebody writes to all that there is. One that nobody opens for
// writing, or nobody writes to, ends with the context.
func TestOpenUntilDone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	in, size, err := openUntilDone(t.Context(), path)
	if err != nil || size >= 0 {
		t.Fatalf("openUntilDone = size %d, %v, want an unknown size", size, err)
	}
	go func() { _ = os.WriteFile(path, []byte("a\nb"), 0) }() // It waits for the reader, who tells what came.
	if got, err := io.ReadAll(in); string(got) != "a\nb" || err != nil {
		t.Errorf("all of the pipe = %q, %v, want all that was written", got, err)
	}
	cause := errors.New("stopped")
	for _, of := range []string{"no writer", "a silent writer"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		in, _, err := openUntilDone(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		cancel(cause)
		if got, err := io.ReadAll(in); len(got) > 0 || !errors.Is(err, cause) {
			t.Errorf("a pipe with %s = %q, %v, want nothing and the cause", of, got, err)
		}
		// Opened for both it waits for nobody. It is there for the next reader, and lets the one before go on.
		silent, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
	}
}
