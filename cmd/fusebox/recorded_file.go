package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/fusebox-project/fusebox/schemas"
)

// openFiles makes every file a source, or stdin where there is none.
func (r *recorded) openFiles(ctx context.Context, stdin io.Reader, files []string) error {
	if len(files) == 0 {
		if isTerminal(stdin) {
			return usageErrorf("nothing to read: name a FILE, pipe outcomes to stdin, or say --from-topic")
		}
		files = []string{"-"}
	}
	var total int64
	var known []os.FileInfo
	for i, name := range files {
		s := &source{place: i, open: func() (sequence, error) { return r.openFile(ctx, name) }}
		if name == "-" {
			total = -1
			s.open = func() (sequence, error) { return newLines(r, "stdin", untilDone(ctx, stdin)) }
			r.sources = append(r.sources, s)
			continue
		}
		stat, err := statLines(name)
		switch {
		case err != nil:
			return err
		case slices.Contains(policyEndings, strings.TrimPrefix(filepath.Ext(name), ".")):
			return usageErrorf("%s looks like a policy file, and outcomes are JSON lines%s", name, r.meant(name))
		case slices.ContainsFunc(known, func(other os.FileInfo) bool { return os.SameFile(stat, other) }):
			return usageErrorf("%s is named twice; its outcomes would count twice", name)
		case !stat.Mode().IsRegular() || total < 0:
			total = -1
		default:
			total += stat.Size()
		}
		if stat.Mode().IsRegular() && len(files) > 1 {
			s.newest = firstTime(ctx, name)
		}
		known = append(known, stat)
		r.sources = append(r.sources, s)
	}
	r.bar = newBar(r.out, r.what, total, isTerminal(r.out))
	return nil
}

// statLines looks at a file of JSON lines that the call names.
func statLines(name string) (os.FileInfo, error) {
	stat, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, usageErrorf("%w", unreadable("file", name, err))
	case stat.IsDir():
		return nil, usageErrorf("%s is a directory; name the files in it, as in %s/*.jsonl", name, name)
	}
	return stat, nil
}

// meant says in which place a policy file may have been meant, as the end of a sentence.
func (r *recorded) meant(file string) string {
	if r.what == "backtest" {
		return "; did you mean --policy " + file + "?"
	}
	return ""
}

func (r *recorded) openFile(ctx context.Context, name string) (sequence, error) {
	file, _, err := openUntilDone(ctx, name)
	if err != nil {
		return nil, unreadable("file", name, err)
	}
	return newLines(r, name, file)
}

// firstTime returns the time of a file's first outcome. What cannot be read is left for when the file's turn comes,
// which is then at once.
func firstTime(ctx context.Context, name string) time.Time {
	var silent recorded
	silent.out, silent.bar = io.Discard, newBar(io.Discard, "", -1, false)
	s, err := silent.openFile(ctx, name)
	if err != nil {
		return time.Time{}
	}
	defer s.close()
	var o schemas.Outcome
	if s.next(ctx, &o) != nil {
		return time.Time{}
	}
	return o.Time
}

// lines is the sequence of a file, or of stdin.
type lines struct {
	*recorded
	name   string
	number int // Of the newest line.
	text   *bufio.Reader
	closes []func()
}

// readAhead is what is read of a file at once. It holds the longest line.
const readAhead = 4 * maxLine

// maxUnpacked bounds the memory that a zstd file can ask for, at what the zstd command takes without being told to.
const maxUnpacked = 128 << 20

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	skipMagic = []byte{0x2a, 0x4d, 0x18} // Of a zstd frame that holds no data, after a byte 0x50 to 0x5f.
)

// newLines unpacks what it is given where it is packed.
func newLines(r *recorded, name string, packed io.ReadCloser) (*lines, error) {
	l := &lines{recorded: r, name: name, closes: []func(){func() { packed.Close() }}}
	l.text = bufio.NewReaderSize(counted{packed, r}, readAhead)
	start, err := l.text.Peek(4)
	if err != nil && err != io.EOF {
		l.close()
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	var unpacked io.Reader
	switch {
	case bytes.HasPrefix(start, gzipMagic):
		unpacked, err = gzip.NewReader(l.text)
	case bytes.HasPrefix(start, zstdMagic) || len(start) == 4 && start[0]>>4 == 5 && bytes.Equal(start[1:], skipMagic):
		var decoder *zstd.Decoder
		decoder, err = zstd.NewReader(l.text, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxUnpacked))
		if err == nil {
			l.closes = append(l.closes, decoder.Close)
		}
		unpacked = decoder
	default:
		return l, nil
	}
	if err != nil {
		l.close()
		return nil, fmt.Errorf("unpack %s: %w", name, err)
	}
	l.text = bufio.NewReaderSize(unpacked, readAhead)
	return l, nil
}

// counted moves the bar by what is read.
type counted struct {
	io.Reader
	*recorded
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	_ = c.bar.Add(n) // What a bar cannot show is no fault of the run.
	return n, err
}

func (l *lines) close() {
	for _, c := range l.closes {
		c()
	}
}

func (l *lines) next(ctx context.Context, o *schemas.Outcome) error {
	for {
		text, _, err := readLine(l.text)
		l.number++
		if l.number == 1 {
			text = bytes.TrimPrefix(text, []byte("\uFEFF"))
		}
		if l.number%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case err != nil && err != io.EOF && !errors.Is(err, errTooLong):
			return fmt.Errorf("read %s:%d: %w", l.name, l.number, err)
		case err == nil || len(text) > 0:
			if len(text) == 0 || !l.readable(text, o) {
				continue
			}
			return nil
		case errors.Is(err, errTooLong):
			l.unreadable++
			l.leaveOut(l.where(), err)
		default:
			return io.EOF
		}
	}
}

// readable reads a line that is not empty, and tells whether it is an outcome to judge.
func (l *lines) readable(text []byte, o *schemas.Outcome) bool {
	if err := schemas.DecodeOutcome(nil, text, o); err != nil {
		l.unreadable++
		l.leaveOut(l.where(), err)
		return false
	}
	if o.Time.IsZero() {
		l.untimed++
		l.leaveOut(l.where(), errNoTime)
		return false
	}
	return true
}

// errNoTime is of an outcome that does not say when it was.
var errNoTime = errors.New("outcome: time is missing")

func (l *lines) where() string { return fmt.Sprintf("%s:%d", l.name, l.number) }
