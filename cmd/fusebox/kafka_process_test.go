package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
	"github.com/fusebox-project/fusebox/processor/kafka"
)

const (
	partitionsUnderLoad = 6
	processPatience     = time.Minute
	shutdownLimit       = 20 * time.Second
)

// installation is Fusebox on a cluster: topics under a prefix of its own, a group, policies, and the processes on it.
type installation struct {
	*kafkatest.Kafka
	t        testing.TB
	group    string
	topics   kafka.Topics
	policies string // Text.
	dir      string
}

// install writes the policies and creates the topics, by way of the binary.
func install(t testing.TB, k *kafkatest.Kafka, name, policies string) *installation {
	t.Helper()
	f := &installation{
		Kafka: k, t: t, group: name, topics: kafka.TopicsWithPrefix(name + "."), policies: policies, dir: t.TempDir(),
	}
	if err := os.WriteFile(filepath.Join(f.dir, "policies.yaml"), []byte(policies), 0o600); err != nil {
		t.Fatal(err)
	}
	f.output("topics", "create", "--partitions", fmt.Sprint(partitionsUnderLoad))
	f.output("topics", "check")
	return f
}

// command is the binary as a process of its own. It is this test's binary under another name, see TestMain.
func (f *installation) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "fusebox", args...)
	cmd.Dir = f.dir
	cmd.Env = append(os.Environ(),
		"FUSEBOX_BROKERS="+strings.Join(f.Seeds, ","), "FUSEBOX_GROUP="+f.group, "FUSEBOX_TOPIC_PREFIX="+f.group+".",
		"FUSEBOX_POLICY_FILE=policies.yaml", "FUSEBOX_SHUTDOWN_TIMEOUT="+shutdownLimit.String(),
	)
	return cmd
}

// output runs the binary, wants it to end well and returns what it printed.
func (f *installation) output(args ...string) string {
	f.t.Helper()
	return f.printed(0, args...)
}

// printed is output of a command that may end with an exit status.
func (f *installation) printed(status int, args ...string) string {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), processPatience)
	defer cancel()
	var said bytes.Buffer
	cmd := f.command(ctx, args...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != status) {
		f.t.Fatalf("fusebox %s: %v\n%s%s", strings.Join(args, " "), err, out, &said)
	}
	return string(out)
}

// awaitCaughtUp waits until the group has committed what the inputs hold.
func (f *installation) awaitCaughtUp() {
	f.t.Helper()
	f.WaitCaughtUp(f.t, f.group, f.topics.Outcomes, f.topics.Signals)
}

// until asks every so often until the answer is yes; what there is instead is said where it never comes.
func (f *installation) until(what string, ask func() (bool, string)) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), processPatience)
	defer cancel()
	for {
		yes, instead := ask()
		if yes {
			return
		}
		if ctx.Err() != nil {
			f.t.Fatalf("%s: not after %v: %s", what, processPatience, instead)
		}
		pause(ctx, 20*time.Millisecond)
	}
}

// runner is one instance of `fusebox run`, a process at a time.
type runner struct {
	f       *installation
	name    string // The instance id.
	workers int
	dir     string // The data directory.
	addr    string
	log     *os.File

	cmd   *exec.Cmd
	ended chan error
}

// run starts an instance, which is killed at the end of the test at the latest.
func (f *installation) run(name string, workers int) *runner {
	f.t.Helper()
	log, err := os.Create(filepath.Join(f.dir, name+".log"))
	if err != nil {
		f.t.Fatal(err)
	}
	r := &runner{f: f, name: name, workers: workers, dir: filepath.Join(f.dir, name), addr: freeLoopback(f.t), log: log}
	f.t.Cleanup(func() {
		if r.cmd != nil {
			_ = r.cmd.Process.Kill() // Where it has ended already there is nothing to kill.
			<-r.ended
		}
		if f.t.Failed() {
			text := r.text()
			f.t.Logf("the last lines of %s:\n%s", name, text[max(0, len(text)-8000):])
		}
		log.Close()
	})
	r.start()
	return r
}

func freeLoopback(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func (r *runner) start() {
	r.f.t.Helper()
	r.cmd = r.f.command(context.Background(), "run")
	r.cmd.Env = append(r.cmd.Env, "FUSEBOX_INSTANCE_ID="+r.name, "FUSEBOX_DATA_DIR="+r.dir,
		"FUSEBOX_HTTP_ADDR="+r.addr, "FUSEBOX_WORKERS="+fmt.Sprint(r.workers))
	r.cmd.Stderr = r.log
	if err := r.cmd.Start(); err != nil {
		r.f.t.Fatalf("start %s: %v", r.name, err)
	}
	cmd, ended := r.cmd, make(chan error, 1)
	r.ended = ended
	go func() { ended <- cmd.Wait() }()
}

// kill ends the process with SIGKILL. It must still be at work then.
func (r *runner) kill() {
	r.f.t.Helper()
	if err := r.cmd.Process.Kill(); err != nil {
		r.f.t.Fatalf("kill %s: %v", r.name, err)
	}
	err := <-r.ended
	r.cmd = nil
	if err == nil || err.Error() != "signal: killed" {
		r.f.t.Fatalf("%s ended by itself: %v", r.name, err)
	}
}

// stop ends the process with SIGTERM. It must end well and in time.
func (r *runner) stop() {
	r.f.t.Helper()
	began := time.Now()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		r.f.t.Fatalf("stop %s: %v", r.name, err)
	}
	select {
	case err := <-r.ended:
		r.cmd = nil
		if err != nil {
			r.f.t.Fatalf("%s ended with %v after SIGTERM, want exit status 0", r.name, err)
		}
		r.f.t.Logf("%s ended %v after SIGTERM", r.name, time.Since(began).Round(time.Millisecond))
	case <-time.After(shutdownLimit):
		r.f.t.Fatalf("%s has not ended %v after SIGTERM", r.name, shutdownLimit)
	}
}

// awaitReady waits until the instance says that it is ready, and says a text too.
func (r *runner) awaitReady(text string) {
	r.f.t.Helper()
	want := regexp.MustCompile(text)
	r.f.until(r.name+" ready", func() (bool, string) {
		status, body := r.get("/readyz?verbose")
		return status == http.StatusOK && want.MatchString(body), fmt.Sprintf("%d %s", status, body)
	})
}

// text returns what the instance has logged.
func (r *runner) text() string {
	text, err := os.ReadFile(r.log.Name())
	if err != nil {
		r.f.t.Errorf("read the log of %s: %v", r.name, err)
	}
	return string(text)
}

// get asks the instance over HTTP. Where nobody answers the status is 0.
func (r *runner) get(path string) (status int, body string) {
	client := http.Client{Timeout: 5 * time.Second}
	answer, err := client.Get("http://" + r.addr + path)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(text)
}

// metric returns the sum over the series of a counter that have these labels, written name="value".
func (r *runner) metric(name string, labels ...string) (sum float64) {
	r.f.t.Helper()
	status, body := r.get("/metrics")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil || status != http.StatusOK {
		r.f.t.Fatalf("%s answers /metrics with %d: %v", r.name, status, err)
	}
	for _, m := range families[name].GetMetric() {
		has := 0
		for _, pair := range m.GetLabel() {
			for _, label := range labels {
				if label == fmt.Sprintf("%s=%q", pair.GetName(), pair.GetValue()) {
					has++
				}
			}
		}
		if has == len(labels) {
			sum += m.GetCounter().GetValue()
		}
	}
	return sum
}
