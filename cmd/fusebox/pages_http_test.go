package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

// TestHTTPPage pastes the lines with curl of docs/operations.md into a shell, against a `fusebox dev` that has its
// admin token from a file, and wants each to be answered as the page says.
func TestHTTPPage(t *testing.T) {
	kafkatest.Require(t, "curl")
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, b := range fencedBlock.FindAllStringSubmatch(string(page), -1) {
		if b[1] == "sh" && strings.Contains(b[2], "$API/") {
			blocks = append(blocks, b[2])
		}
	}
	if len(blocks) != 3 {
		t.Fatalf("operations.md has %d blocks with curl, want what all may, what operators may, the stream",
			len(blocks))
	}
	s := startDevForCurl(t)
	stream, end := s.begin(blocks[2])
	defer end()
	s.wantAnswers(blocks[0], `{"accepted":1}`, `{"circuits":\[`,
		`{"circuit":"extraction:gpt:v4","state":"closed"`, `{"transitions":\[`)
	s.wantAnswers(blocks[1], `{"meant":\["extraction:gpt:v4"\],.*"state":"closed"`,
		`{"meant":\["extraction:gpt:v4"\],.*"state":"forced_open"`, `{"level":"debug"}`)
	event := regexp.MustCompile(`^data: {"circuit":"extraction:gpt:v4","state":"forced_open","previous":"closed",`)
	for stream.Scan() {
		if event.MatchString(stream.Text()) {
			return
		}
	}
	t.Errorf("the stream ended, %v, before the override came", stream.Err())
}

// curling is a dev, and a shell's environment that reaches it.
type curling struct {
	t   *testing.T
	env []string
	api string
}

// startDevForCurl starts a dev, which ends with the test. curl waits until it is there, and fails where it answers with
// a fault.
func startDevForCurl(t *testing.T) *curling {
	t.Helper()
	dir, addr := t.TempDir(), freeLoopback(t)
	for name, text := range map[string]string{
		"token": "s3cret\n", ".curlrc": "fail-with-body\nshow-error\nretry-all-errors\nretry = 20\nmax-time = 30\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dev := exec.Command("fusebox", "dev", "--broker", "127.0.0.1:0")
	dev.Env = append(os.Environ(), "FUSEBOX_HTTP_ADDR="+addr,
		"FUSEBOX_ADMIN_TOKEN_FILE="+filepath.Join(dir, "token"))
	if err := dev.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = dev.Process.Kill() // Where it has ended already the test has failed.
		_ = dev.Wait()
	})
	return &curling{t, append(os.Environ(), "CURL_HOME="+dir, "TOKEN=s3cret"), "http://" + addr}
}

// shell is a shell that runs commands of the page up to the first that fails.
func (s *curling) shell(ctx context.Context, commands string) *exec.Cmd {
	here := "API=" + s.api
	commands = "set -e\n" + here + "\n" + strings.Replace(commands, "API=http://127.0.0.1:8080", here, 1)
	cmd := exec.CommandContext(ctx, "sh", "-c", commands)
	cmd.Env = s.env
	return cmd
}

// wantAnswers runs commands and wants that they print one answer after the other.
func (s *curling) wantAnswers(commands string, answers ...string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	said, err := s.shell(ctx, commands).CombinedOutput()
	if want := "(?s)^" + strings.Join(answers, ".*"); err != nil || !regexp.MustCompile(want).Match(said) {
		s.t.Fatalf("operations.md: after\n%s%v, and it printed\n%s\nwant %s", commands, err, said, want)
	}
}

// begin starts commands that go on, once the first line of their answer has come, until end is called.
func (s *curling) begin(commands string) (lines *bufio.Scanner, end func()) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	cmd := s.shell(ctx, "curl -s $API/readyz >/dev/null\nexec "+commands)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	lines = bufio.NewScanner(out)
	if err != nil || !lines.Scan() {
		s.t.Fatal(fmt.Errorf("operations.md: %s ended before it answered: %v, %v", commands, err, lines.Err()))
	}
	return lines, func() {
		cancel()
		_ = cmd.Wait() // It was killed.
	}
}
