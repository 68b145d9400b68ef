package state

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// Holder is the process that has a store open, as it wrote itself down. It is zero where that could not be read.
type Holder struct {
	PID      int       `json:"pid"`
	Host     string    `json:"host"`
	Instance string    `json:"instance"`
	Since    time.Time `json:"since"`
}

// LockedError says that another process has the store open, and which.
type LockedError struct {
	Dir    string
	Holder Holder
}

// Error names the directory and the holder.
func (e *LockedError) Error() string {
	if e.Holder.PID == 0 {
		return fmt.Sprintf("store %s is locked by another process", e.Dir)
	}
	return fmt.Sprintf("store %s is locked by process %d on host %q, instance %q, since %s",
		e.Dir, e.Holder.PID, e.Holder.Host, e.Holder.Instance, e.Holder.Since.Format(time.RFC3339))
}

// acquire locks the store's directory and writes down who holds it. The kernel frees the lock when the process ends,
// however it ends; what is written down only serves the message.
func acquire(dir, instance string) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock store %s: %w", dir, err)
	}
	if !ok {
		return nil, &LockedError{Dir: dir, Holder: readHolder(dir)}
	}
	host, _ := os.Hostname() // an unknown host is left empty in the message
	text, err := json.Marshal(Holder{PID: os.Getpid(), Host: host, Instance: instance, Since: time.Now().UTC()})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "holder.json"), text, 0o644)
	}
	if err != nil && !isFull(err) {
		release(dir, lock)
		return nil, fmt.Errorf("write holder of store %s: %w", dir, err)
	}
	return lock, nil
}

func release(dir string, lock *flock.Flock) {
	_ = os.Remove(filepath.Join(dir, "holder.json")) // stale, it would only name a process that is gone
	_ = lock.Unlock()                                // closes the file, and with it the lock
}

func readHolder(dir string) Holder {
	var h Holder
	text, err := os.ReadFile(filepath.Join(dir, "holder.json"))
	if err != nil || json.Unmarshal(text, &h) != nil {
		return Holder{}
	}
	return h
}
