package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/schemas"
)

// readRecorded returns the ids of what was yielded, what was said of the rest, and the error.
func readRecorded(t *testing.T, stdin string, files ...string) (ids []string, said string, err error) {
	t.Helper()
	var out bytes.Buffer
	r := &recorded{what: "test", out: &out}
	if err := r.openFiles(t.Context(), strings.NewReader(stdin), files); err != nil {
		return nil, out.String(), err
	}
	ids, err = drain(t.Context(), r)
	if err == nil {
		err = r.summary()
	}
	return ids, out.String(), err
}

func drain(ctx context.Context, r *recorded) ([]string, error) {
	var ids []string
	for o, err := range r.outcomes(ctx) {
		if err != nil {
			return ids, err
		}
		ids = append(ids, strings.Clone(o.ID))
	}
	return ids, nil
}

// lineOf returns an outcome of circuit c so many seconds after noon.
func lineOf(id string, second int) string {
	at := time.Date(2026, 9, 14, 12, 0, second, 0, time.UTC)
	return fmt.Sprintf(`{"id":%q,"circuit":"c","kind":"accepted","time":%q}`+"\n", id, at.Format(time.RFC3339))
}

func writeTemp(t *testing.T, name string, body []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, body, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func packGzip(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func packZstd(t *testing.T, text string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll([]byte(text), nil)
}

func TestRecordedToldByContent(t *testing.T) {
	text := lineOf("a", 0) + lineOf("b", 1)
	skippable := append([]byte{0x51, 0x2a, 0x4d, 0x18, 3, 0, 0, 0}, "xyz"...)
	for _, tt := range []struct {
		meaning string
		body    []byte
	}{
		{"plain", []byte(text)},
		{"with a byte order mark", []byte("\uFEFF" + text)},
		{"with other line ends", []byte(strings.ReplaceAll(text, "\n", "\r\n\r\n"))},
		{"without a last line end", []byte(strings.TrimSpace(text))},
		{"gzip", packGzip(t, text)},
		{"gzip in two members", append(packGzip(t, lineOf("a", 0)), packGzip(t, lineOf("b", 1))...)},
		{"zstd", packZstd(t, text)},
		{"zstd in two frames", append(packZstd(t, lineOf("a", 0)), packZstd(t, lineOf("b", 1))...)},
		{"zstd after a frame without data", append(skippable, packZstd(t, text)...)},
	} {
		t.Run(tt.meaning, func(t *testing.T) {
			for _, files := range [][]string{nil, {"-"}, {writeTemp(t, "misnamed.txt", tt.body)}} {
				ids, said, err := readRecorded(t, string(tt.body), files...)
				if err != nil || said != "" || !slices.Equal(ids, []string{"a", "b"}) {
					t.Errorf("read %v = %q, said %q, %v, want a and b", files, ids, said, err)
				}
			}
		})
	}
}

func TestRecordedIsCutOff(t *testing.T) {
	packed := packGzip(t, strings.Repeat(lineOf("a", 0), 100))
	path := writeTemp(t, "cut.gz", packed[:len(packed)-12])
	if _, _, err := readRecorded(t, "", path); err == nil || !strings.Contains(err.Error(), path+":") {
		t.Errorf("read a gzip file without its end: %v, want an error with its name and a line", err)
	}
}

// TestRecordedMerge has one file whose times go back: it stays in its own order, and waits for others by the newest
// time that it has come to.
func TestRecordedMerge(t *testing.T) {
	a := writeTemp(t, "a", []byte(lineOf("a10", 10)+lineOf("a3", 3)+lineOf("a4", 4)+
		lineOf("a20", 20)+lineOf("a21", 21)))
	b := writeTemp(t, "b", []byte(lineOf("b5", 5)+lineOf("b10", 10)+lineOf("b15", 15)+lineOf("b30", 30)))
	late := writeTemp(t, "late", []byte("no outcome\n"+lineOf("l25", 25)+lineOf("l40", 40)))
	for _, tt := range []struct {
		files []string
		want  string
	}{
		{[]string{a, b, late}, "b5 a10 a3 a4 b10 b15 a20 a21 l25 b30 l40"},
		{[]string{b, a, late}, "b5 b10 a10 a3 a4 b15 a20 a21 l25 b30 l40"},
		{[]string{late, b, a}, "b5 b10 a10 a3 a4 b15 a20 a21 l25 b30 l40"},
	} {
		ids, said, err := readRecorded(t, "", tt.files...)
		if got := strings.Join(ids, " "); err != nil || got != tt.want {
			t.Errorf("read %v = %s, %v, want %s", tt.files, got, err, tt.want)
		}
		if n := strings.Count(said, late+":1: "); n != 1 {
			t.Errorf("the bad line of a file that waited was named %d times, want 1:\n%s", n, said)
		}
	}
}

// TestRecordedOpenFiles reads many files that follow each other in time, and wants few of them open at once.
func TestRecordedOpenFiles(t *testing.T) {
	opened, most := 0, 0
	var ss sources
	for i := range 100 {
		s := &source{place: i, newest: time.Unix(int64(i), 0)}
		text := lineOf(fmt.Sprint(i), i)
		s.newest = time.Date(2026, 9, 14, 12, 0, i, 0, time.UTC)
		s.open = func() (sequence, error) {
			opened++
			most = max(most, opened)
			r := &recorded{out: io.Discard, bar: newBar(io.Discard, "", -1, false)}
			l, err := newLines(r, "x", io.NopCloser(strings.NewReader(text)))
			l.closes = append(l.closes, func() { opened-- })
			return l, err
		}
		ss = append(ss, s)
	}
	slices.Reverse(ss)
	r := &recorded{sources: ss, bar: newBar(io.Discard, "", -1, false)}
	ids, err := drain(t.Context(), r)
	if err != nil || len(ids) != 100 || ids[0] != "0" || ids[99] != "99" {
		t.Errorf("read = %q, %v, want 0 to 99", ids, err)
	}
	if most > 2 || opened != 0 {
		t.Errorf("%d files were open at once and %d at the end, want at most 2 and 0", most, opened)
	}
}

func TestRecordedLeavesOut(t *testing.T) {
	bad := "{\n" + lineOf("a", 0) + `{"circuit":"c","kind":"accepted"}` + "\n" +
		strings.Repeat("x", maxLine+1) + "\n\n" +
		`{"circuit":"c","kind":"accepted","time":"2026-09-14"}` + "\n" + lineOf("b", 1)
	ids, said, err := readRecorded(t, bad)
	if err != nil || !slices.Equal(ids, []string{"a", "b"}) {
		t.Errorf("read = %q, %v, want a and b", ids, err)
	}
	for _, want := range []string{
		"stdin:1: outcome: is not JSON", "stdin:3: outcome: time is missing\n", "stdin:4: longer than 64 KiB\n",
		"stdin:6: outcome: time: ", "left out 4 of 6 records: 3 could not be read, 1 had no time\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("said\n%s\nwant %q in it", said, want)
		}
	}
	ids, said, err = readRecorded(t, strings.Repeat("x\n", 100)+lineOf("a", 0))
	if n := strings.Count(said, "stdin:"); err != nil || n != maxLeftOut || len(ids) != 1 {
		t.Errorf("of 100 bad lines %d were named, %q read, %v, want %d and one", n, ids, err, maxLeftOut)
	}
	if !strings.Contains(said, "and 80 more\nleft out 100 of 101 records") {
		t.Errorf("said\n%s\nwant how many more there were", said)
	}
	if _, _, err := readRecorded(t, "x\n"); err == nil {
		t.Error("nothing but a bad line: no error, want one")
	}
}

// TestRecordedFromTopic reads what stands between two times in two partitions. A record that was forwarded counts
// where it was first written, and one without a time is of its timestamp.
func TestRecordedFromTopic(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "fusebox.outcomes.v1"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	t.Setenv("FUSEBOX_BROKERS", strings.Join(cluster.ListenAddrs(), ","))
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DefaultProduceTopic("fusebox.outcomes.v1"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	noon := time.Date(2026, 9, 14, 12, 0, 0, 0, time.UTC)
	record := func(partition int32, second int, value string) *kgo.Record {
		at := noon.Add(time.Duration(second) * time.Second)
		return &kgo.Record{Partition: partition, Key: []byte("c"), Value: []byte(value), Timestamp: at}
	}
	moved := record(1, 4, `{"id":"a3","kind":"accepted"}`)
	moved.Headers = []kgo.RecordHeader{{Key: schemas.ForwardHeader, Value: []byte("g/c/t/0/2/1")}}
	if err := client.ProduceSync(t.Context(),
		record(0, 0, `{"id":"early","kind":"accepted"}`), record(0, 1, `{"id":"a1","kind":"accepted"}`),
		record(0, 3, `{"id":"a3","kind":"accepted"}`), record(0, 60, `{"id":"after","kind":"accepted"}`),
		record(1, 1, `{"kind":`), record(1, 2, lineOf("b2", 2)), moved, record(1, 5, `{"id":"b5","kind":"accepted"}`),
	).FirstErr(); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	r := &recorded{what: "test", out: &said}
	flags := recordedFlags{since: "2026-09-14T12:00:01Z", until: "2026-09-14T12:01:00Z"}
	if err := r.openTopic(t.Context(), &flags); err != nil {
		t.Fatal(err)
	}
	ids, err := drain(t.Context(), r)
	if got := strings.Join(ids, " "); err != nil || got != "a1 b2 a3 b5" {
		t.Errorf("read the topic = %s, %v, want a1 b2 a3 b5", got, err)
	}
	want := "fusebox.outcomes.v1, partition 1, offset 0: outcome: is not JSON"
	if !strings.Contains(said.String(), want) {
		t.Errorf("said %q, want %q in it", said.String(), want)
	}
}
