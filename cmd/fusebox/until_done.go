package main

import (
	"context"
	"io"
	"os"
)

// openUntilDone opens a file that is read until the context ends, and returns its size in bytes, -1 where nobody knows
// it: of a named pipe both opening and reading wait for whoever writes.
func openUntilDone(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	stat, err := os.Stat(name)
	if err != nil {
		return nil, 0, err
	}
	if !stat.Mode().IsRegular() {
		return untilDone(ctx, &awaited{name: name}), -1, nil
	}
	file, err := os.Open(name)
	return file, stat.Size(), err
}

// awaited is a file that is opened with the first read and closed with the last.
type awaited struct {
	name string
	file *os.File
}

// Read is that of io.Reader.
func (a *awaited) Read(b []byte) (int, error) {
	if a.file == nil {
		file, err := os.Open(a.name)
		if err != nil {
			return 0, err
		}
		a.file = file
	}
	n, err := a.file.Read(b)
	if err != nil {
		_ = a.file.Close() // It was only read.
	}
	return n, err
}

// untilDone returns what r has, until the context ends: then reading ends with its cause. At that time the goroutine
// that reads r may be blocked in it, waiting for somebody to type; it is left so, as nothing can take it out of there,
// and ends with the process.
func untilDone(ctx context.Context, r io.Reader) io.ReadCloser {
	out, in := io.Pipe()
	stop := context.AfterFunc(ctx, func() { in.CloseWithError(context.Cause(ctx)) })
	go func() {
		_, err := io.Copy(in, r)
		in.CloseWithError(err)
		stop()
	}()
	return out
}
