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
	select {
	case <-done:
		return
	case s := <-signals:
		cancel(signalError{s})
	}
	select {
	case <-done:
	case s := <-signals:
		fmt.Fprintf(os.Stderr, "fusebox: second signal (%s): ended at once, without a clean shutdown\n", s)
		os.Exit(exitFailed)
	}
}
