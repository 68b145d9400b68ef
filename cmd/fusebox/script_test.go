package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"fusebox": main}) }

// TestScript runs the scripts of testdata/script: the binary as a user meets it.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"answers": awaitAnswer, "exits": checkExit, "freeaddr": freeAddr, "kafka": runKafka,
			"interrupt": interrupt, "setoffset": setOffset, "nothingleft": nothingLeft,
			"awaitgroup": awaitGroup, "altercopy": alterCopy, "hangup": hangup,
		},
		Setup: func(env *testscript.Env) error {
			env.Values[kafkaKey{}] = new(*kfake.Cluster)
			return nil
		},
	})
}

// checkExit runs a command and looks at its exit status: exits STATUS COMMAND ARG...
func checkExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND ARG...")
	}
	var exit *exec.ExitError
	status := 0
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		status = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(status) != args[0] {
		ts.Fatalf("%s: exit status %d, want %s", strings.Join(args[1:], " "), status, args[0])
	}
}

// kafkaKey is where a script's cluster is kept.
type kafkaKey struct{}

// runKafka starts a kfake cluster for the script and says in FUSEBOX_BROKERS where it is, or stops it: kafka [BROKERS],
// kafka stop
func runKafka(ts *testscript.TestScript, _ bool, args []string) {
	slot := ts.Value(kafkaKey{}).(**kfake.Cluster)
	brokers := 1
	switch {
	case len(args) == 1 && args[0] == "stop":
		(*slot).Close()
		return
	case len(args) == 1:
		n, err := strconv.Atoi(args[0])
		ts.Check(err)
		brokers = n
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(brokers))
	ts.Check(err)
	ts.Defer(cluster.Close)
	*slot = cluster
	ts.Setenv("FUSEBOX_BROKERS", strings.Join(cluster.ListenAddrs(), ","))
}

// freeAddr puts an address on which nobody listens into a variable: freeaddr NAME
func freeAddr(ts *testscript.TestScript, _ bool, args []string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv(args[0], listener.Addr().String())
	ts.Check(listener.Close())
}

// awaitAnswer asks a URL until status and body match: answers URL REGEXP
func awaitAnswer(ts *testscript.TestScript, _ bool, args []string) {
	want, err := regexp.Compile("(?s)" + args[1])
	ts.Check(err)
	client := http.Client{Timeout: 5 * time.Second}
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	last := ""
	for {
		if answer, err := client.Get(args[0]); err == nil {
			body, _ := io.ReadAll(answer.Body)
			answer.Body.Close()
			last = fmt.Sprintf("%d %s", answer.StatusCode, body)
		} else {
			last = err.Error()
		}
		if want.MatchString(last) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			ts.Fatalf("%s answers %q, want %s", args[0], last, want)
		}
	}
}

// interrupt interrupts a command in the background again and again until it ends: interrupt NAME
func interrupt(ts *testscript.TestScript, _ bool, args []string) {
	process := background(ts, args[0])
	deadline := time.After(patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for process.Signal(os.Interrupt) == nil {
		select {
		case <-tick.C:
		case <-deadline:
			ts.Fatalf("%s has not ended", args[0])
		}
	}
}

// background returns the process of a command in the background, by its subcommand.
func background(ts *testscript.TestScript, name string) *os.Process {
	at := slices.IndexFunc(ts.BackgroundCmds(), func(cmd *exec.Cmd) bool { return cmd.Args[1] == name })
	if at < 0 {
		ts.Fatalf("%s does not run in the background", name)
	}
	return ts.BackgroundCmds()[at].Process
}

// hangup sends SIGHUP to a command in the background: hangup NAME
func hangup(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(background(ts, args[0]).Signal(syscall.SIGHUP))
}

// admin returns a client of the script's cluster.
func admin(ts *testscript.TestScript) *kadm.Client {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(ts.Getenv("FUSEBOX_BROKERS"), ",")...))
	ts.Check(err)
	ts.Defer(client.Close)
	return kadm.NewClient(client)
}

// nothingLeft finds topics and groups whose names begin with what is given, by default as a bench names its own:
// nothingleft [NAME]
func nothingLeft(ts *testscript.TestScript, _ bool, args []string) {
	name := "fusebox-bench-"
	if len(args) > 0 {
		name = args[0]
	}
	topics, err := admin(ts).ListTopics(context.Background())
	ts.Check(err)
	groups, err := admin(ts).ListGroups(context.Background())
	ts.Check(err)
	for _, there := range append(topics.Names(), groups.Groups()...) {
		if strings.HasPrefix(there, name) {
			ts.Fatalf("%s is left", there)
		}
	}
}

// awaitGroup waits until a group has members: awaitgroup NAME
func awaitGroup(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for client := admin(ts); ; pause(ctx, 20*time.Millisecond) {
		described, err := client.DescribeGroups(ctx, args[0])
		ts.Check(err)
		if len(described[args[0]].Members) > 0 {
			return
		}
	}
}

// setOffset commits an offset of a group by hand: setoffset GROUP TOPIC PARTITION OFFSET
func setOffset(ts *testscript.TestScript, _ bool, args []string) {
	partition, err := strconv.ParseInt(args[2], 10, 32)
	ts.Check(err)
	at, err := strconv.ParseInt(args[3], 10, 64)
	ts.Check(err)
	offsets := kadm.Offsets{}
	offsets.AddOffset(args[1], int32(partition), at, -1)
	ts.Check(admin(ts).CommitAllOffsets(context.Background(), args[0], offsets))
}
