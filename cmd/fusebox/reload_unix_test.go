//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestReloadOfAPipe puts a pipe in place of the policy file: nobody waits for what may never be written to it.
func TestReloadOfAPipe(t *testing.T) {
	r := startReloading(t, "0.5")
	pipe := filepath.Join(r.dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("no pipe can be made here: %v", err)
	}
	if err := os.Rename(pipe, filepath.Join(r.dir, "policies.yaml")); err != nil {
		t.Fatal(err)
	}
	r.log.await(t, "cannot be read: it is not a regular file")
	r.asked <- syscall.SIGHUP
	r.log.await(t, "cannot be read: it is not a regular file")
	r.expect(t, 0, 2, 0, versionOf(t, "0.5"))
}
