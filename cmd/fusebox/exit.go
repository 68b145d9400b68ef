package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// Exit statuses.
const (
	exitOK       = 0
	exitFailed   = 1 // It failed.
	exitUsage    = 2 // The call or the configuration is wrong.
	exitProblems = 3 // A check found problems.
)

// statusError ends the process with a status. Without an error in it, what was wrong has been printed already.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e *statusError) Unwrap() error { return e.err }

// usageErrorf returns an error about how the command was called or configured: exit status 2.
func usageErrorf(format string, args ...any) error {
	return &statusError{exitUsage, fmt.Errorf(format, args...)}
}

// foundProblems is what a check returns that has printed the problems it found: exit status 3.
func foundProblems() error { return &statusError{status: exitProblems} }

// ranError is an error that a command returned, as opposed to one that cobra found in the call before it.
type ranError struct{ error }

func (e ranError) Unwrap() error { return e.error }

// markRuns wraps the errors of every command in ranError.
func markRuns(cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if err := run(cmd, args); err != nil {
				return ranError{err}
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		markRuns(sub)
	}
}

// report prints what is to be said of a command's error and returns the exit status.
func report(ctx context.Context, cmd *cobra.Command, err error) int {
	if err == nil {
		return exitOK
	}
	var ran ranError
	if !errors.As(err, &ran) {
		cmd.PrintErrf("fusebox: %v\nsee '%s --help'\n", err, cmd.CommandPath())
		return exitUsage
	}
	var status *statusError
	if errors.As(err, &status) {
		if status.err != nil {
			cmd.PrintErrf("fusebox: %v\n", err)
		}
		return status.status
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	cmd.PrintErrf("fusebox: %v\n", err)
	return exitFailed
}
