package console_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"
)

// listening is one reader of the stream.
type listening struct {
	cancel context.CancelFunc
	lines  *bufio.Scanner
}

// listen opens the stream, after an event where one is named.
func (s *site) listen(query, after string) *listening {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	s.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/v1/stream?"+query, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { answer.Body.Close() })
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != http.StatusOK || kind != "text/event-stream" {
		s.t.Fatalf("GET /v1/stream = %s, %s", answer.Status, kind)
	}
	return &listening{cancel, bufio.NewScanner(answer.Body)}
}

// until reads up to an event that says all words, and returns how many events came and the id of the last.
func (l *listening) until(t *testing.T, words ...string) (events int, id string) {
	t.Helper()
	for l.lines.Scan() {
		line := l.lines.Text()
		if after, ok := strings.CutPrefix(line, "id: "); ok {
			id = after
			events++
		}
		found := strings.HasPrefix(line, "data: ")
		for _, w := range words {
			found = found && strings.Contains(line, w)
		}
		if found {
			return events, id
		}
	}
	t.Fatalf("the stream ended, %v, before an event with %q", l.lines.Err(), words)
	return 0, ""
}

// next returns of which circuit the next event is, and the state in it.
func (l *listening) next(t *testing.T, name string) (circuit, state string) {
	t.Helper()
	for l.lines.Scan() {
		text, ok := strings.CutPrefix(l.lines.Text(), "data: ")
		if !ok {
			continue
		}
		var record struct{ Circuit, State string }
		if err := json.Unmarshal([]byte(text), &record); err != nil {
			t.Fatalf("%s: %q is no record: %v", name, text, err)
		}
		return record.Circuit, record.State
	}
	t.Fatalf("%s: the stream ended: %v", name, l.lines.Err())
	return "", ""
}

// silent is a reader of the stream that never reads.
func (s *site) silent() net.Conn {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err == nil {
		err = conn.(*net.TCPConn).SetReadBuffer(4096)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "GET /v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
	return conn
}

// readersOf returns how many read the stream in a test: 60, or as many as FUSEBOX_TEST_READERS says.
func readersOf(t *testing.T) int {
	t.Helper()
	text := cmp.Or(os.Getenv("FUSEBOX_TEST_READERS"), "60")
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("FUSEBOX_TEST_READERS: %v", err)
	}
	return n
}

// TestStream has readers of whom every tenth never reads: the others get every event, in order, and one that comes back
// gets what it missed, from memory or, of long ago, from the topic.
func TestStream(t *testing.T) {
	s, many := newSite(t), readersOf(t)
	for range many / 10 {
		s.silent()
	}
	const circuits = 30
	match := url.Values{"match": {"case:new-*"}}.Encode()
	readers := make([]*listening, many-many/10)
	for i := range readers {
		readers[i] = s.listen(match, "")
	}
	first := s.listen(match, "")
	for i := range circuits {
		s.post("/v1/outcomes", fmt.Sprintf(`{"circuit":"case:new-%02d:v1","kind":"contradictory_evidence"}`, i))
		name := fmt.Sprintf(`"circuit":"case:new-%02d:v1"`, i)
		for _, r := range readers { // Born, and open.
			if events, _ := r.until(t, name, `"state":"open"`); events != 2 {
				t.Fatalf("a reader got %d events of circuit %d, want 2", events, i)
			}
		}
	}
	t.Logf("%d readers have had every event, and %d MiB of memory are in use, theirs too", len(readers), inUse()>>20)
	_, seen := first.until(t, `"circuit":"case:new-09:v1"`, `"state":"open"`)
	first.cancel()

	// Circuits come in the order of their partitions: each in its own order, born before it opens.
	for name, r := range map[string]*listening{
		"after what was seen":   s.listen(match, seen),
		"after an hour ago":     s.listen(match, fmt.Sprintf("%d-0-0", time.Now().Add(-time.Hour).UnixMilli())),
		"after ages ago, asked": s.listen(match+"&last_event_id=1000-0-0", ""),
	} {
		missing := map[string]bool{}
		for i := 10; i < circuits; i++ {
			missing[fmt.Sprintf("case:new-%02d:v1", i)] = true
		}
		for born := map[string]bool{}; len(missing) > 0; {
			circuit, state := r.next(t, name)
			if born[circuit] && state == "open" {
				delete(missing, circuit)
			}
			born[circuit] = true
		}
	}
	if got := s.status("/v1/stream?last_event_id=nonsense"); got != http.StatusUnprocessableEntity {
		t.Errorf("an id that is none = %d, want 422", got)
	}
}

// inUse returns how many bytes this process has from the system, and has not given back.
func inUse() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64() - sample[1].Value.Uint64()
}
