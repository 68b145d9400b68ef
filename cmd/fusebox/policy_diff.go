package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

func newPolicyDiffCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff A B [CIRCUIT...]",
		Short: "Tell in words what changes for which circuits between two policy files",
		Long: `Compares what two policy files do to circuits, not how they are written: a default that is written out or
a policy that moved makes no difference. Circuits with the same changes stand together, and those for which only one of
the files has a policy, or neither, are named. "builtin" names the built-in policy.
The circuits are those that the call names, or those that the state topic knows (--from-topic), or else names on stdin,
one a line. With --from-topic those are named that are open and would be closed, as B has no policy for them or one
that is off. Exit status 0 whether or not anything changes; with --protect 3 where a circuit that A judges would be
judged no more.`,
		Example: `  fusebox policy diff policies.yaml new.yaml < circuits.txt
  fusebox policy diff policies.yaml new.yaml \
    submission-extraction:gpt-primary:v4
  fusebox policy diff builtin policies.yaml --from-topic`,
		Args:              arguments("A", "B", "[CIRCUIT...]"),
		ValidArgsFunction: completeDiff,
	}
	fromTopic := cmd.Flags().Bool("from-topic", false, "compare for the circuits that the state topic knows")
	protect := cmd.Flags().Bool("protect", false, "exit with 3 where a circuit would be judged no more")
	timeout := cmd.Flags().Duration("timeout", 30*time.Second, "give up when the state topic is not read by then")
	asJSON := addJSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		was, err := usablePolicies(args[0], args[0])
		if err != nil {
			return err
		}
		is, err := usablePolicies(args[1], args[1])
		if err != nil {
			return err
		}
		var circuits []string
		var records map[string]known
		switch {
		case *fromTopic && len(args) > 2:
			return usageErrorf("--from-topic compares for the circuits of the topic; name none, or leave it out")
		case *fromTopic:
			records, err = circuitsOfTopic(cmd.Context(), *timeout)
			circuits = slices.Sorted(maps.Keys(records))
		case len(args) > 2:
			circuits, err = namedCircuits(args[2:], func(i int) string { return "" })
		default:
			circuits, err = readCircuits(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr())
		}
		if err != nil {
			return err
		}
		d := comparePolicies(was, is, circuits)
		d.close(records, time.Now())
		if err := d.print(cmd.OutOrStdout(), args[0], args[1], *asJSON); err != nil {
			return err
		}
		if *protect && len(d.Lost) > 0 {
			return foundProblems()
		}
		return nil
	}
	return cmd
}

// circuitsOfTopic returns the circuits that the state topic knows.
func circuitsOfTopic(ctx context.Context, timeout time.Duration) (map[string]known, error) {
	read, err := readStatus(ctx, timeout)
	if err != nil {
		return nil, err
	}
	if len(read.circuits) == 0 {
		return nil, fmt.Errorf("the state topic knows no circuit yet; name circuits, or give their names on stdin")
	}
	return read.circuits, nil
}

// readCircuits reads names of circuits, one a line.
func readCircuits(ctx context.Context, stdin io.Reader, progress io.Writer) ([]string, error) {
	if isTerminal(stdin) {
		fmt.Fprintln(progress, "reading names of circuits from this terminal, one a line; Ctrl-D ends")
	}
	in := untilDone(ctx, stdin)
	defer in.Close()
	var lines []string
	scanner := bufio.NewScanner(in)
	for scanner.Scan() {
		lines = append(lines, strings.TrimRight(scanner.Text(), "\r"))
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("read names of circuits, line %d: %w", len(lines)+1, err)
	}
	circuits, err := namedCircuits(lines, func(i int) string { return fmt.Sprintf("stdin, line %d: ", i+1) })
	if err == nil && len(circuits) == 0 {
		err = usageErrorf("no circuit was named; name circuits behind the files, give their names on stdin, or take " +
			"--from-topic")
	}
	return circuits, err
}

// namedCircuits returns names of circuits in order, each once. Empty ones are none.
func namedCircuits(names []string, where func(int) string) ([]string, error) {
	var circuits []string
	for i, name := range names {
		if name == "" {
			continue
		}
		if err := schemas.CheckCircuit(name); err != nil {
			return nil, usageErrorf("%scircuit %q: %w", where(i), name, err)
		}
		circuits = append(circuits, name)
	}
	slices.Sort(circuits)
	return slices.Compact(circuits), nil
}

// policyDiff is what changes between two policy files.
type policyDiff struct {
	Was       string         `json:"was"` // Versions.
	Is        string         `json:"is"`
	Changed   []changedGroup `json:"changed"` // In the order of their first circuits.
	Unchanged []string       `json:"unchanged"`
	OnlyWas   []string       `json:"only_was"` // Circuits for which only the first file has a policy,
	OnlyIs    []string       `json:"only_is"`  // those for which only the second has one,
	Neither   []string       `json:"neither"`  // and those for which neither does.
	Lost      []string       `json:"lost"`     // Circuits that the first file judges and the second does not,
	Closed    []string       `json:"closed"`   // and those of them that are open now: it would close them.

	Nearest map[string]nearPattern `json:"nearest,omitempty"` // What the first of Neither may have been meant to match.
}

// changedGroup are circuits for which the same changes.
type changedGroup struct {
	Circuits []string             `json:"circuits"`
	Changes  []breaker.Difference `json:"changes"`
}

func comparePolicies(was, is *breaker.Policies, circuits []string) policyDiff {
	d := policyDiff{
		Was: was.Version, Is: is.Version, Changed: []changedGroup{}, Unchanged: []string{}, OnlyWas: []string{},
		OnlyIs: []string{}, Neither: []string{}, Lost: []string{}, Closed: []string{},
	}
	for _, circuit := range circuits {
		switch before, after := was.For(circuit).Matched, is.For(circuit).Matched; {
		case !before && !after:
			d.Neither = append(d.Neither, circuit)
			d.near(circuit, was, is)
		case !after:
			d.OnlyWas = append(d.OnlyWas, circuit)
		case !before:
			d.OnlyIs = append(d.OnlyIs, circuit)
		}
		if was.For(circuit).Enabled && !is.For(circuit).Enabled {
			d.Lost = append(d.Lost, circuit)
		}
		changes := breaker.Compare(was, is, circuit)
		if len(changes) == 0 {
			d.Unchanged = append(d.Unchanged, circuit)
			continue
		}
		i := slices.IndexFunc(d.Changed, func(g changedGroup) bool { return slices.Equal(g.Changes, changes) })
		if i < 0 {
			d.Changed = append(d.Changed, changedGroup{[]string{circuit}, changes})
			continue
		}
		d.Changed[i].Circuits = append(d.Changed[i].Circuits, circuit)
	}
	return d
}

// near notes which pattern a circuit was meant to match that neither file has a policy for, unless many were noted.
func (d *policyDiff) near(circuit string, files ...*breaker.Policies) {
	const most = 10
	for _, policies := range files {
		if n := nearestPattern(circuit, policies); n != nil && len(d.Neither) <= most {
			if d.Nearest == nil {
				d.Nearest = map[string]nearPattern{}
			}
			d.Nearest[circuit] = *n
			return
		}
	}
}

// close notes which of the circuits that are judged no more refuse calls now, by their records.
func (d *policyDiff) close(records map[string]known, now time.Time) {
	for _, circuit := range d.Lost {
		k, ok := records[circuit]
		if s := k.At(now); ok && (s.State == schemas.Open || s.State == schemas.HalfOpen) {
			d.Closed = append(d.Closed, circuit)
		}
	}
}

// print prints the difference between two files of these names.
func (d policyDiff) print(w io.Writer, was, is string, asJSON bool) error {
	if asJSON {
		return writeJSON(w, d)
	}
	_, err := io.WriteString(w, hang(d.text(paletteFor(w))+d.coverage(was, is), widthOf(w)))
	return err
}

func (d policyDiff) text(p palette) string {
	var b strings.Builder
	for _, g := range d.Changed {
		fmt.Fprintf(&b, "%s\n", p.bold(count(len(g.Circuits), "circuit", "circuits")+": "+someOf(g.Circuits)))
		for _, c := range g.Changes {
			fmt.Fprintf(&b, "  %s\n", c.About)
			if c.Was != "" {
				fmt.Fprintf(&b, "  %s\n", p.bad("- "+c.Was))
			}
			if c.Is != "" {
				fmt.Fprintf(&b, "  %s\n", p.good("+ "+c.Is))
			}
		}
		b.WriteByte('\n')
	}
	switch n := len(d.Unchanged); {
	case len(d.Changed) == 0:
		fmt.Fprintf(&b, "nothing changes for %s\n", count(n, "circuit", "circuits"))
	case n > 0:
		fmt.Fprintf(&b, "nothing changes for %s: %s\n", count(n, "circuit", "circuits"), someOf(d.Unchanged))
	}
	return b.String()
}

// coverage tells of circuits that are not judged by both files.
func (d policyDiff) coverage(was, is string) string {
	var b strings.Builder
	tell := func(circuits []string, words string) {
		if n := len(circuits); n > 0 {
			fmt.Fprintf(&b, "%s for %s: %s\n", words, count(n, "circuit", "circuits"), someOf(circuits))
		}
	}
	tell(d.OnlyWas, "only "+was+" has a policy")
	tell(d.OnlyIs, "only "+is+" has a policy")
	tell(d.Neither, "neither "+was+" nor "+is+" has a policy")
	for _, circuit := range slices.Sorted(maps.Keys(d.Nearest)) {
		n := d.Nearest[circuit]
		fmt.Fprintf(&b, "  %s is nearly matched by the pattern %s of policy %s: is the name misspelt?\n", circuit,
			n.Pattern, n.Policy)
	}
	off := slices.DeleteFunc(slices.Clone(d.Lost), func(c string) bool { return slices.Contains(d.OnlyWas, c) })
	tell(off, is+" switches the policy off")
	tell(d.Closed, is+" would at once close the open breaker")
	return b.String()
}

// someOf lists names, those beyond the first ten by their number.
func someOf(names []string) string {
	const most = 10
	if len(names) > most+1 {
		return fmt.Sprintf("%s and %d others", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
