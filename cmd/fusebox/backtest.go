package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/backtest"
)

func newBacktestCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backtest [FILE...]",
		Short: "Say what policies would have done with recorded outcomes",
		Long: `Runs recorded outcomes through a policy: when each circuit would have opened and why, how long it would
have been open, and which of the recorded calls would have been refused. Without --policy it goes by
FUSEBOX_POLICY_FILE, or else by the built-in policy; "builtin" names that one.

Recorded epochs and leases are disregarded, and each circuit's clock is its own newest time. While a circuit is open its
recorded calls count as refused, except the probe that the policy would have sent: the next that started when one was
due. A policy with "shadows" has a row beside that of the circuit's own policy, marked (shadow).
FUSEBOX_MAX_RESIDENT_CIRCUITS bounds how many circuits are in memory; the others wait in a temporary file.

FOUND AFTER is how much came from the first failure of the bad stretch to the first trip. BAD AVOIDED, NEUTRAL AVOIDED
and GOOD REFUSED are the calls refused, of all failures by the policy's roles, all that is neither, and all accepted
answers: together these are the outcomes. #41 of a trip is the place of its outcome in the circuit's sequence, which
begins with #0. With --compare, A is the policy of --policy and B that of --compare: differences are what taking A
instead of B changes, and arrows lead from B to A.

` + recordedHelp + `

--truth names a CSV file of stretches in which answers are known to have been bad:
    circuit,from,to
    extraction:gpt-primary:v4,2026-09-14T12:00:00Z,2026-09-14T12:40:00Z
An empty "to" is the end of the record. A stretch is found by the first trip in it, its delay counted from the circuit's
first outcome in it; one in which the circuit was open already is found at once. A false trip is one from closed,
outside every stretch of its circuit. Shadows are held against the truth too, and to no limit. Exit status 3 if
--policy exceeds --max-delay, --max-false-trips or --max-missed. Where any limit is given, no stretch may be missed
unless --max-missed allows it, and no record left out unless --max-left-out does; and most outcomes of no circuit may be
late, as they are where a file is not in the order
of time.`,
		Example: `  fusebox backtest --policy policies.yaml recorded.jsonl
  fusebox backtest --policy policies.yaml --compare builtin --html report.html \
    monday.jsonl.gz tuesday.jsonl.gz
  fusebox backtest --policy policies.yaml --truth incidents.csv \
    --max-delay 2m --max-false-trips 0 recorded.jsonl
  fusebox backtest --from-topic --since 24h --json`,
	}
	var b backtester
	flags := cmd.Flags()
	flags.StringVar(&b.policy, "policy", "", "the policy `file` to try")
	flags.StringVar(&b.compare, "compare", "", "the policy `file`, such as today's, to hold that of --policy against")
	flags.StringVar(&b.truthFile, "truth", "", "a CSV `file` of stretches known to be bad")
	b.limits.add(flags)
	flags.StringVar(&b.html, "html", "", "write a page with timelines to this `file`, too")
	flags.BoolVar(&b.all, "all", false, "list every circuit and every trip")
	b.recorded = addRecordedFlags(cmd)
	asJSON := addJSONFlag(cmd)
	for _, flag := range []string{"policy", "compare"} {
		_ = cmd.RegisterFlagCompletionFunc(flag, completePolicies)
	}
	cmd.ValidArgsFunction = completeEndings(recordedEndings)
	_ = cmd.MarkFlagFilename("truth", "csv")
	_ = cmd.MarkFlagFilename("html", "html")
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		b.asJSON = *asJSON
		return b.run(cmd, files)
	}
	return cmd
}

// backtester is one call of the command.
type backtester struct {
	policy, compare string
	truthFile       string
	html            string
	limits          truthLimits
	all, asJSON     bool
	recorded        *recordedFlags

	sides []*backtestSide // What is judged by --policy, and by --compare.
	input *recorded
}

func (b *backtester) run(cmd *cobra.Command, files []string) error {
	if err := b.prepare(cmd); err != nil {
		return err
	}
	read := append([]string{b.truthFile}, files...)
	for _, s := range b.sides {
		read = append(read, s.name)
	}
	page, err := createPage(b.html, read)
	if err != nil {
		return err
	}
	defer page.discard()
	if b.input, err = b.recorded.open(cmd, files); err != nil {
		return err
	}
	defer func() {
		for _, s := range b.sides {
			s.close()
		}
	}()
	err = b.feed(cmd.Context())
	if summary := b.input.summary(); err == nil {
		err = summary
	}
	if err != nil {
		return err
	}
	for _, s := range b.sides {
		if err := s.finish(); err != nil {
			return err
		}
	}
	if err := page.write(b); err != nil {
		return err
	}
	if b.html != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s\n", b.html)
	}
	if err := b.print(cmd.OutOrStdout()); err != nil {
		return err
	}
	return b.verdict(cmd.ErrOrStderr())
}

// prepare reads all that the flags name, so that nothing is found to be wrong at the end of a long run.
func (b *backtester) prepare(cmd *cobra.Command) error {
	c, err := loadConfig()
	if err != nil {
		return err
	}
	if err := b.limits.check(cmd.Flags(), b.truthFile != ""); err != nil {
		return err
	}
	truth, err := readTruth(b.truthFile)
	if err != nil {
		return err
	}
	for i, name := range []string{b.policy, b.compare} {
		if i > 0 && name == "" {
			break
		}
		policies, named, err := c.policiesNamed(name)
		if err != nil {
			return err
		}
		s := newBacktestSide(named, policies, c.MaxResidentCircuits, b.html != "", false)
		if truth != nil {
			s.truth = backtest.NewTruth(truth)
		}
		if b.compare == "" && len(s.shadows()) > 0 {
			s.beside = newBacktestSide(named, policies, c.MaxResidentCircuits, b.html != "", true)
			s.beside.label = besideName
			if truth != nil {
				s.beside.truth = backtest.NewTruth(truth)
			}
		}
		b.sides = append(b.sides, s)
	}
	if len(b.sides) == 1 {
		return nil
	}
	for i, s := range b.sides {
		s.label = sideNames[i]
		for _, name := range s.shadows() {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: shadow %s is not compared; a backtest without --compare has it\n",
				s.name, name)
		}
	}
	return nil
}

// builtin is what the built-in policy is called where a file is asked for.
const builtin = "builtin"

// policiesNamed returns the policies of a file, the built-in ones, or where nothing is named those of the
// configuration, and what to call them.
func (c config) policiesNamed(file string) (*breaker.Policies, string, error) {
	switch {
	case file == builtin || file == "" && c.PolicyFile == "":
		return breaker.Builtin(), builtin, nil
	case file == "":
		policies, err := c.policies()
		return policies, c.PolicyFile, err
	}
	policies, err := usablePolicies(file, file)
	return policies, file, err
}

// feed runs all that was recorded through every side.
func (b *backtester) feed(ctx context.Context) error {
	for o, err := range b.input.outcomes(ctx) {
		if err != nil {
			return fmt.Errorf("after %s: %w", count(int(b.input.read), "outcome", "outcomes"), err)
		}
		for _, s := range b.sides {
			s.step(o)
		}
	}
	return nil
}
