//go:build linux || darwin

package state

import (
	"io/fs"
	"syscall"
)

// freeBytes returns how much an unprivileged process may still write to the file system of a directory.
func freeBytes(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(min(st.Bavail, 1<<40) * min(uint64(st.Bsize), 1<<20)), nil
}

// usedBytes returns what a file takes on disk, which for Badger's logs is far less than their length.
func usedBytes(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}
