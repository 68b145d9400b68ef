package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fusebox-project/fusebox/breaker"
)

// auditRequest is what the command line asks for.
type auditRequest struct {
	since, until string
	match        breaker.Glob
	asJSON       bool
}

func newAuditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit [CIRCUIT|GLOB]",
		Short: "Recompute published transitions from the log, and say which differ",
		Long: `Read outcomes, signals and transitions of a stretch of time, let the same core judge once more by the
policies that the log says were in force, and compare what comes of it with what was published, field by field.

A circuit is audited from its first change in the stretch on, as there it was empty. What cannot be audited is said with
its number and reason: what came before that change, inputs that retention has deleted, policies that are not on the log
any more, timestamps in the future that were clamped to the wall clock.

Exit status: 0 nothing differs, 3 something does, 1 it could not be done. Where nothing was published that could be
audited, as no circuit matches or the stretch is empty, it says so, with status 0: --json has "same":0,"different":0.

` + brokersHelp,
		Example: `  fusebox audit --since 24h
  fusebox audit --since 2026-09-14T12:00:00Z --until 2026-09-14T13:00:00Z \
    "submission-extraction:*" --json`,
		Args:              arguments("[CIRCUIT|GLOB]"),
		ValidArgsFunction: completeCircuit,
	}
	var r auditRequest
	flags := cmd.Flags()
	flags.StringVar(&r.since, "since", "24h",
		"from how `long` ago on, such as 24h or 7d, or a time such as 2026-09-14T12:00:00Z")
	flags.StringVar(&r.until, "until", "", "up to how `long` ago, or a time; by default now")
	_ = cmd.RegisterFlagCompletionFunc("until", completeUntil)
	asJSON := addJSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r.asJSON = *asJSON
		if len(args) > 0 {
			r.match = breaker.Glob(args[0])
		}
		return r.run(cmd)
	}
	return cmd
}

func (r *auditRequest) run(cmd *cobra.Command) error {
	now := time.Now()
	since, until, err := spanOf(r.since, r.until, now)
	if err != nil {
		return err
	}
	c, err := loadToolConfig()
	if err != nil {
		return err
	}
	a, err := newAuditor(cmd.Context(), c, since, until, r.match)
	if err != nil {
		return err
	}
	defer a.client.Close()
	a.out = cmd.ErrOrStderr()
	report, err := a.run(cmd.Context())
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	if r.asJSON {
		err = writeJSON(cmd.OutOrStdout(), report)
	} else {
		err = report.write(cmd.OutOrStdout())
	}
	switch {
	case err != nil:
		return err
	case len(report.Differences) > 0:
		return foundProblems()
	}
	return report.unusable()
}

// run audits one partition after the other.
func (a *auditor) run(ctx context.Context) (auditReport, error) {
	report := newAuditReport(a)
	spans, total := make([]*auditSpan, 0, a.partitions), int64(0)
	a.bar = newRecordBar(a.out, "audit", -1)
	defer func() { _ = a.bar.Finish() }() // What a bar cannot show is no fault of the run.
	for partition := range a.partitions {
		s, err := a.span(ctx, partition)
		if err != nil {
			return report, err
		}
		spans = append(spans, s)
		total += s.records()
	}
	a.bar.ChangeMax64(total)
	for _, s := range spans {
		found, err := a.audit(ctx, s)
		if err != nil {
			return report, err
		}
		report.add(&found)
	}
	return report, nil
}
