// Command fusebox is a semantic circuit breaker for AI routes, run as a Kafka stream processor, with the tools around
// it in one binary. A file holds a command; config.go reads the environment, and nothing else does.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

func main() { os.Exit(execute(os.Args[1:])) }

// execute runs one command line and returns the process's exit status.
func execute(args []string) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(done)
	wg.Go(func() { heedSignals(done, cancel) })

	root := newRoot()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	return report(ctx, cmd, err)
}

// signalError is the cause of a context that ended because somebody asked the process to stop.
type signalError struct{ signal os.Signal }

func (e signalError) Error() string { return "stopped by signal: " + e.signal.String() }

// heedSignals cancels at the first SIGINT or SIGTERM, which is the request to end cleanly, and ends the process at the
// second. It returns when done is closed.
func heedSignals(done <-chan struct{}, cancel context.CancelCauseFunc) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if s := secondSignal(done, signals, cancel); s != nil {
		fmt.Fprintf(os.Stderr, "fusebox: second signal (%s): ended at once, without a clean shutdown\n", s)
		os.Exit(exitFailed)
	}
}

// oneRequest is how long signals are one request: timeout(1) and terminals send theirs to the process and once more to
// its group.
const oneRequest = 500 * time.Millisecond

// secondSignal cancels at the first signal and returns the first that comes more than oneRequest after it, or nil when
// done is closed.
func secondSignal(done <-chan struct{}, signals <-chan os.Signal, cancel context.CancelCauseFunc) os.Signal {
	var first time.Time
	for {
		select {
		case <-done:
			return nil
		case s := <-signals:
			switch {
			case first.IsZero():
				first = time.Now()
				cancel(signalError{s})
			case time.Since(first) > oneRequest:
				return s
			}
		}
	}
}
