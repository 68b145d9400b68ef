package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/processor/kafka"
)

// repairRequest is what the command line asks for.
type repairRequest struct {
	take       string
	partitions []int32 // None: all.
	yes        bool
	asJSON     bool
}

func newTopicsRepairCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "repair",
		Short: "Show where the group's offsets and the changelog differ, and take one side",
		Long: `A partition whose offsets in the consumer group are not those of its progress record in the changelog
does not start: somebody has reset the offsets, or one of the two was lost. This shows where they differ and what
would follow from taking the one or the other; exit status 3 if a partition does not start.

  --take progress  goes on where the changelog is, which is what the circuits have counted
  --take group     goes on where the group's offsets are, with the circuits as they are

Both are written in one transaction, after a question; --yes goes on unasked. Instances may run meanwhile: one that has
such a partition does not work on it, and tries it again within seconds.`,
		Example: `  FUSEBOX_BROKERS=kafka:9092 fusebox topics repair
  FUSEBOX_BROKERS=kafka:9092 fusebox topics repair --partition 3 --take progress`,
		Args: arguments(),
	}
	var r repairRequest
	flags := cmd.Flags()
	flags.StringVar(&r.take, "take", "", "side to take: progress or group")
	flags.Int32SliceVar(&r.partitions, "partition", nil,
		"`numbers` of the partitions to look at, separated by commas (default: all)")
	flags.Lookup("partition").DefValue = "" // Help would say "(default [])".
	flags.BoolVar(&r.yes, "yes", false, "do not ask")
	asJSON := addJSONFlag(cmd)
	_ = cmd.RegisterFlagCompletionFunc("take", cobra.FixedCompletions(
		[]string{string(kafka.TakeProgress), string(kafka.TakeGroup)}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if side := kafka.Side(r.take); r.take != "" && side != kafka.TakeProgress && side != kafka.TakeGroup {
			return usageErrorf("--take %s: want progress or group", r.take)
		}
		r.asJSON = *asJSON
		return r.run(cmd)
	}
	return cmd
}

func (r *repairRequest) run(cmd *cobra.Command) error {
	return withTopics(cmd, func(ctx context.Context, c config, _ *kgo.Client) error { return r.repair(ctx, cmd, c) })
}

// repair shows where the partitions stand, and takes a side where one is named.
func (r *repairRequest) repair(ctx context.Context, cmd *cobra.Command, c config) error {
	repair, err := kafka.OpenRepair(ctx, c.topics(), c.Group, c.clientOpts())
	if err != nil {
		return err
	}
	defer repair.Close()
	all, err := repair.Standings(ctx)
	if err != nil {
		return err
	}
	if all, err = r.among(all); err != nil {
		return err
	}
	stopped := slices.DeleteFunc(slices.Clone(all), func(s kafka.Standing) bool { return s.Relation.Starts() })
	if r.take == "" || len(stopped) == 0 {
		return r.show(cmd.OutOrStdout(), c.Group, all, stopped)
	}
	if err := r.confirm(ctx, cmd, repair, c.Group, all, stopped); err != nil {
		return err
	}
	// The question may have taken its time.
	taking, end := context.WithTimeout(cmd.Context(), topicsTimeout)
	defer end()
	if err := repair.Take(taking, kafka.Side(r.take), stopped); err != nil {
		return err
	}
	return r.done(cmd.OutOrStdout(), stopped)
}

// among leaves the partitions that the call names.
func (r *repairRequest) among(all []kafka.Standing) ([]kafka.Standing, error) {
	if len(r.partitions) == 0 {
		return all, nil
	}
	var named []kafka.Standing
	for _, p := range slices.Compact(slices.Sorted(slices.Values(r.partitions))) {
		if p < 0 || int(p) >= len(all) {
			return nil, usageErrorf("--partition %d: there are 0 to %d", p, len(all)-1)
		}
		named = append(named, all[p])
	}
	return named, nil
}

// show prints where the partitions stand.
func (r *repairRequest) show(w io.Writer, group string, all, stopped []kafka.Standing) error {
	var err error
	if r.asJSON {
		err = writeJSON(w, repairReport{Partitions: all})
	} else {
		_, err = io.WriteString(w, repairText(paletteFor(w), group, all, stopped))
	}
	if err == nil && len(stopped) > 0 {
		return foundProblems()
	}
	return err
}

// repairReport is what the command prints for machines.
type repairReport struct {
	Partitions []kafka.Standing `json:"partitions"`
	Taken      string           `json:"taken,omitempty"`
}

// repairText tells of every partition that does not start or has something to say, and counts the others.
func repairText(p palette, group string, all, stopped []kafka.Standing) string {
	var text strings.Builder
	agreed := 0
	for _, s := range all {
		switch {
		case !s.Relation.Starts():
			fmt.Fprintf(&text, "partition %d %s: %s\n", s.Partition, p.bad("does not start"), s.Says)
			for _, choice := range s.Choices {
				fmt.Fprintf(&text, "  %s  %s\n", p.bold(fmt.Sprintf("--take %-8s", choice.Take)), choiceWords(choice))
			}
		case s.Relation == kafka.Agrees || s.Relation == kafka.Fresh:
			agreed++
		default:
			fmt.Fprintf(&text, "partition %d starts: %s\n", s.Partition, s.Says)
		}
	}
	if agreed > 0 {
		fmt.Fprintf(&text, "%s: the offsets of group %s and the changelog agree\n",
			count(agreed, "partition", "partitions"), group)
	}
	if len(stopped) > 0 {
		text.WriteString("to take a side: fusebox topics repair --take progress|group [--partition N,...]\n")
	}
	return text.String()
}

// choiceWords says what follows from taking a side.
func choiceWords(c kafka.Choice) string {
	if c.Problem != "" {
		return "cannot be taken: " + c.Problem
	}
	text := fmt.Sprintf("goes on from outcomes %d and signals %d: ", c.From.Outcomes, c.From.Signals)
	most := ""
	if c.AtMost {
		most = "at most "
	}
	var effects []string
	if c.Skipped != (kafka.Records{}) {
		effects = append(effects, "skips "+recordWords(most, c.Skipped)+", which are never counted")
	}
	if c.Again != (kafka.Records{}) {
		effects = append(effects, "handles "+recordWords(most, c.Again)+" a second time")
	}
	if len(effects) == 0 {
		return text + "skips nothing, handles nothing twice"
	}
	return text + strings.Join(effects, ", ")
}

// recordWords names numbers of records, without those of which there are none.
func recordWords(most string, r kafka.Records) string {
	var words []string
	if r.Outcomes > 0 {
		words = append(words, most+count(int(r.Outcomes), "outcome", "outcomes"))
	}
	if r.Signals > 0 {
		words = append(words, most+count(int(r.Signals), "signal", "signals"))
	}
	return strings.Join(words, " and ")
}

// confirm shows what will be done, and asks.
func (r *repairRequest) confirm(
	ctx context.Context, cmd *cobra.Command, repair *kafka.Repair, group string, all, stopped []kafka.Standing,
) error {
	out := cmd.ErrOrStderr()
	fmt.Fprint(out, repairText(paletteFor(out), group, all, nil))
	if err := kafka.CanTake(kafka.Side(r.take), stopped); err != nil {
		return err
	}
	members, err := repair.Members(ctx)
	if err != nil {
		return err
	}
	if len(members) > 0 {
		fmt.Fprintf(out, "group %s has %s, which may go on; nothing is written before %v have shown that none of them "+
			"works on what is to be repaired\n", group, count(len(members), "member", "members"), kafka.WatchTime)
	}
	if r.yes {
		return nil
	}
	return ask(cmd.InOrStdin(), out, fmt.Sprintf("Take %s for %s?", r.take,
		count(len(stopped), "partition", "partitions")))
}

// done prints what was taken.
func (r *repairRequest) done(w io.Writer, taken []kafka.Standing) error {
	if r.asJSON {
		return writeJSON(w, repairReport{Partitions: taken, Taken: r.take})
	}
	var text strings.Builder
	for _, s := range taken {
		choice, _ := s.Choice(kafka.Side(r.take))
		fmt.Fprintf(&text, "partition %d %s\n", s.Partition, choiceWords(choice))
	}
	_, err := io.WriteString(w, text.String())
	return err
}
