package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/fusebox-project/fusebox/processor/backtest"
	"github.com/fusebox-project/fusebox/processor/suggest"
	"github.com/fusebox-project/fusebox/schemas"
)

func newPolicySuggestCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "suggest [FILE...]",
		Short: "Propose thresholds from outcomes that were recorded while all was well",
		Long: `Proposes ratio rules for each route of each use case from recorded outcomes of a healthy stretch, and
prints them as a policy file. Comments in it say what they come from: a table of the windows that were weighed, with the
least threshold of each that trips on nothing recorded, and by chance as rarely as --false-trips asks for, how often
that is at the recorded rate, and how soon each would notice that half of the good answers go bad, or all.

--false-trips is what a rule may do on a route while all is well: so many in an hour, a day, a week, a month or a year,
at the rate of the recording (and never in more than 1 of 100,000 windows), or a chance a window, such as 0.00001.
Record at the rate that the route has: gaps, and hours with little to do, make it lower.

Rules are proposed for failures, and for policy rejections, which are neutral by themselves. Kinds have the roles that
they have by default. What gets no rule is named on stderr, with the reason. What is proposed passes
'fusebox policy check --against' the same files. --truth names a CSV file of stretches known to be bad, as for
'fusebox backtest': they are left out of what is healthy, and what misses the fewest of them is proposed.

` + recordedHelp + `

Exit status 3 if nothing can be proposed, as nothing could be told apart from what was recorded.`,
		Example: `  fusebox policy suggest monday.jsonl > suggested.yaml
  fusebox policy check suggested.yaml --against monday.jsonl
  fusebox policy suggest --truth incidents.csv week.jsonl.gz
  fusebox policy suggest --from-topic --since 24h`,
		ValidArgsFunction: completeEndings(recordedEndings),
	}
	recorded := addRecordedFlags(cmd)
	truthFile := cmd.Flags().String("truth", "", "a CSV `file` of stretches known to be bad")
	falseTrips := cmd.Flags().String("false-trips", "1/week", "how `often` a rule may trip falsely, at most")
	asJSON := addJSONFlag(cmd)
	_ = cmd.MarkFlagFilename("truth", "csv")
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		goal, err := suggest.ParseGoal(*falseTrips)
		if err != nil {
			return usageErrorf("--false-trips %s: %w", *falseTrips, err)
		}
		truth, err := readTruth(*truthFile)
		if err != nil {
			return err
		}
		input, err := recorded.open(cmd, files)
		if err != nil {
			return err
		}
		proposal, err := propose(cmd, input, truth, goal)
		if err != nil {
			return err
		}
		for _, gap := range proposal.Gaps() {
			fmt.Fprintln(cmd.ErrOrStderr(), gap)
		}
		return printProposal(cmd.OutOrStdout(), &proposal, *asJSON)
	}
	return cmd
}

// propose reads what was recorded and weighs it.
func propose(cmd *cobra.Command, input *recorded, truth []backtest.Bad, goal suggest.Goal) (suggest.Proposal, error) {
	config, err := loadConfig()
	if err != nil {
		return suggest.Proposal{}, err
	}
	away := &spill{}
	defer func() { _ = away.close() }() // It is a temporary file.
	recording := suggest.Recording{Options: backtest.Options{Resident: config.MaxResidentCircuits, Store: away}}
	for o, err := range input.outcomes(cmd.Context()) {
		if err == nil {
			err = recording.Add(o, isKnownBad(truth, o))
		}
		if err != nil {
			return suggest.Proposal{}, err
		}
	}
	if err := input.summary(); err != nil {
		return suggest.Proposal{}, err
	}
	bar := newStepBar(cmd.ErrOrStderr(), "weigh")
	defer func() { _ = bar.Finish() }() // What a bar cannot show is no fault of the run.
	return recording.Propose(goal, func(done, total int) error {
		bar.ChangeMax(total)
		_ = bar.Set(done)
		return cmd.Context().Err()
	})
}

// newStepBar returns a progress bar over steps of work.
func newStepBar(w io.Writer, what string) *progressbar.ProgressBar {
	return progressbar.NewOptions(1,
		progressbar.OptionSetWriter(w), progressbar.OptionSetVisibility(isTerminal(w)),
		progressbar.OptionSetDescription(what), progressbar.OptionThrottle(time.Second),
		progressbar.OptionSetWidth(20), progressbar.OptionClearOnFinish())
}

// isKnownBad tells whether an outcome lies in a stretch that is known to be bad.
func isKnownBad(truth []backtest.Bad, o *schemas.Outcome) bool {
	return slices.ContainsFunc(truth, func(b backtest.Bad) bool {
		return b.Circuit == o.Circuit && !o.Time.Before(b.From) && (b.To == time.Time{} || o.Time.Before(b.To))
	})
}

func printProposal(w io.Writer, p *suggest.Proposal, asJSON bool) error {
	var err error
	if asJSON {
		err = writeJSON(w, p)
	} else {
		_, err = io.WriteString(w, p.Policy)
	}
	if err == nil && p.Rules() == 0 {
		return foundProblems()
	}
	return err
}
