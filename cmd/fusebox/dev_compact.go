package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/twmb/franz-go/pkg/kfake"
)

// never is longer than any dev runs. The broker compacts a log by removing its files and writing others: a kill
// between the two would lose it. So it never does while it runs, and renew does it at the start.
const never = "315360000000" // Milliseconds.

// renew opens the broker's data without clients, compacts it, drops what is older than its topics keep, and closes it
// again, which writes its logs of groups and producers anew: nothing is then appended behind a torn last entry, where
// no later start would find it. All of it happens in a second tree of the same files, which takes the first one's
// place when it is whole.
func renew(dir string, opts []kfake.Opt) error {
	next, old := dir+".next", dir+".old"
	if err := finishRenewal(dir, next, old); err != nil {
		return err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil // The first start.
	}
	if err := linkTree(dir, next); err != nil {
		return err
	}
	cluster, err := kfake.NewCluster(append(opts, kfake.DataDir(next))...)
	if err != nil {
		return err
	}
	cluster.Compact()
	cluster.Close()
	return errors.Join(os.Rename(dir, old), os.Rename(next, dir), os.RemoveAll(old))
}

// finishRenewal ends a renewal that was killed: the old tree is back or gone, and no half of a new one is left.
func finishRenewal(dir, next, old string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := os.Rename(old, dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return errors.Join(os.RemoveAll(next), os.RemoveAll(old))
}

// linkTree makes a second tree of the same files. The broker replaces files and does not write into those that are
// there while nobody is its client.
func linkTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		within, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, within)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		if err := os.Link(path, target); err != nil {
			return fmt.Errorf("link %s: %w", path, err)
		}
		return nil
	})
}
