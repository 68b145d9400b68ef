package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The broker of `fusebox dev` writes all it acknowledges to files at once, which outlive a killed process. Three
// things in it are not whole if the kill comes between two writes, and would break exactly-once:
//
//   - The end of a transaction is a marker a partition, then an offset a group and partition, then an entry in
//     pids.log. A journal of the sizes that all files had before it makes that whole: where the last entry is
//     missing, every file is cut back, and the transaction is open again.
//   - A transaction that is open when the kill comes gets no marker: the broker counts it as aborted for as long as
//     its producer has no later one, and no reader's position gets past it. Its batches at a log's end are cut off.
//   - A batch goes into a segment file, then fifteen bytes about it into an index file, among them whether it is part
//     of a transaction. A batch that lacks them was not acknowledged, and is cut off.
//
// All is done on the files before the broker opens them, by what they have in common with Kafka's own and by their
// only growing.

const (
	journalName = "end-transaction.json"
	producerLog = "pids.log"
	groupLog    = "groups.log"
)

// endJournal writes down the sizes of the broker's files before it ends a transaction.
type endJournal struct {
	dir     string
	log     *slog.Logger
	pending bool
}

// before is called by the broker with every request before it is handled, one at a time.
func (j *endJournal) before(request kmsg.Request) (kmsg.Response, error, bool) { //nolint:revive // The broker's form.
	end, isEnd := request.(*kmsg.EndTxnRequest)
	switch {
	case isEnd && end.Commit:
		if err := j.write(); err != nil {
			j.log.Warn("a kill from now on may tear a transaction", "err", err)
		}
		j.pending = true
	case j.pending:
		j.pending = false
		if err := os.Remove(filepath.Join(j.dir, journalName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			j.log.Warn("the journal of transactions cannot be removed", "err", err)
		}
	}
	return nil, nil, false
}

// write replaces the journal in one step.
func (j *endJournal) write() error {
	sizes, err := fileSizes(j.dir)
	if err != nil {
		return err
	}
	text, err := json.Marshal(sizes)
	if err != nil {
		return err
	}
	name := filepath.Join(j.dir, journalName)
	if err := os.WriteFile(name+".tmp", text, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".tmp", name)
}

// fileSizes returns the sizes of the files that the end of a transaction may change, by their paths in dir.
func fileSizes(dir string) (map[string]int64, error) {
	sizes := make(map[string]int64)
	logs := []string{filepath.Join(dir, producerLog), filepath.Join(dir, groupLog)}
	for _, pattern := range []string{"*.dat", "*.idx"} {
		names, err := filepath.Glob(filepath.Join(dir, "partitions", "*", pattern))
		if err != nil {
			return nil, err
		}
		logs = append(logs, names...)
	}
	for _, name := range logs {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		within, err := filepath.Rel(dir, name)
		if err != nil {
			return nil, err
		}
		sizes[within] = info.Size()
	}
	return sizes, nil
}

// takeBack cuts off what a killed broker had begun and not finished. Sequence numbers of producers, which are saved
// at a clean end alone, are dropped: producers begin anew.
func takeBack(dir string) error {
	if err := undoEnd(dir); err != nil {
		return err
	}
	partitions, err := filepath.Glob(filepath.Join(dir, "partitions", "*"))
	if err != nil {
		return err
	}
	for _, partition := range partitions {
		if err := cutTail(partition); err != nil {
			return err
		}
	}
	if err := os.Remove(filepath.Join(dir, "seq_windows.json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// undoEnd undoes the end of a transaction that has no last entry.
func undoEnd(dir string) error {
	name := filepath.Join(dir, journalName)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var before map[string]int64
	if err := json.Unmarshal(text, &before); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	now, err := fileSizes(dir)
	if err != nil {
		return err
	}
	if now[producerLog] == before[producerLog] && !shrunk(before, now) {
		if err := cutBack(dir, before, now); err != nil {
			return err
		}
	}
	return os.Remove(name)
}

// shrunk tells whether a file is smaller than it was or gone: it was compacted since, and sizes say nothing.
func shrunk(before, now map[string]int64) bool {
	for name, size := range before {
		if now[name] < size {
			return true
		}
	}
	return false
}

// cutBack gives every file the size it had, and removes those that were not there.
func cutBack(dir string, before, now map[string]int64) error {
	for name, size := range now {
		path := filepath.Join(dir, name)
		had, there := before[name]
		var err error
		switch {
		case !there:
			err = os.Remove(path)
		case size > had:
			err = os.Truncate(path, had)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
