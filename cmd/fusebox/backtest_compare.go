package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fusebox-project/fusebox/processor/backtest"
)

// compare prints two policies side by side: in all, then by circuit.
func (p *backtestPrinter) compare(a, b *backtestSide) {
	c := backtest.Compare(&a.report, &b.report)
	ta, tb := a.report.Totals(), b.report.Totals()
	p.line("\n%s", p.paint.bold(verdict(ta, tb, &c)))
	p.line("%s", found(&c))
	p.table(totalRows(&ta, &tb), func(int) string { return "" })
	order := differing(a, &c)
	listed := order[:p.most(len(order), listedCircuits)]
	quiet := quiet(&c)
	if p.all {
		listed = slices.Concat(order, quiet)
	}
	if len(listed) > 0 {
		p.table(compareRows(a, b, &c, listed), func(r int) string {
			return map[bool]string{true: "bad"}[r <= len(order)]
		})
	}
	if hidden := len(order) - len(listed); hidden > 0 {
		p.line("and %s; --all lists them", count(hidden, "more circuit that opened", "more circuits that opened"))
	}
	switch n := len(quiet); {
	case n > 0 && p.all:
		p.line("the last %s opened under neither", plural(n, "one", fmt.Sprint(n)))
	case n > 0:
		p.line("%s opened under neither; --all lists %s", count(n, "circuit", "circuits"), plural(n, "it", "them"))
	}
	shown := order[:p.most(len(order), shownCircuits)]
	for i, n := range shown {
		if i == 0 {
			p.legend()
		}
		p.difference(a, b, n, &c.Circuits[n])
	}
}

// verdict says which policy to take, or what the one costs against the other.
func verdict(a, b backtest.Totals, c *backtest.Comparison) string {
	first, second := "A", "B"
	bad, neutral, good := against(a, b)
	if bad < 0 || bad == 0 && (neutral < 0 || neutral == 0 && good > 0) {
		first, second = second, first
		bad, neutral, good = -bad, -neutral, -good
	}
	avoids := fmt.Sprintf("avoids %s than %s", moreOrFewer(bad, "bad answer"), second)
	if neutral != 0 {
		avoids = fmt.Sprintf("avoids %s and %s than %s", moreOrFewer(bad, "bad answer"),
			moreOrFewer(neutral, "neutral one"), second)
	}
	switch gained := bad + neutral; {
	case a == b && c.Earlier+c.Later+c.OnlyA+c.OnlyB == 0:
		return "A and B do the same here"
	case bad == 0 && neutral == 0 && good == 0:
		return "A and B refuse as many good and bad answers: see below when"
	case good < 0:
		return fmt.Sprintf("%s is better here: it %s, and refuses %s", first, avoids, moreOrFewer(good, "good one"))
	case good == 0:
		return fmt.Sprintf("%s is better here: it %s, and refuses as many good ones", first, avoids)
	case gained > 0:
		return fmt.Sprintf("%s %s, and refuses %s for that: take it if a good answer refused costs you less than "+
			"%.3g of those avoided", first, avoids, moreOrFewer(good, "good one"), float64(gained)/float64(good))
	default:
		return fmt.Sprintf("%s %s, and refuses %s for that", first, avoids, moreOrFewer(good, "good one"))
	}
}

// against returns how many more answers A refuses than B, by what they are.
func against(a, b backtest.Totals) (bad, neutral, good int64) {
	return a.Refused.Failures - b.Refused.Failures, a.Refused.Others - b.Refused.Others,
		a.Refused.Accepted - b.Refused.Accepted
}

func moreOrFewer(n int64, what string) string {
	word := "more"
	if n < 0 {
		n, word = -n, "fewer"
	}
	return count(int(n), word+" "+what, word+" "+what+"s")
}

// found says how much earlier or later A finds what both find.
func found(c *backtest.Comparison) string {
	var outcomes, seconds []float64
	for _, d := range c.Circuits {
		for _, pair := range d.Pairs {
			outcomes, seconds = append(outcomes, float64(pair.Outcomes)), append(seconds, pair.Seconds)
		}
	}
	words := "No bad stretch was found by both"
	if n := len(outcomes); n > 0 {
		words = fmt.Sprintf("Of %s that both found A is earlier at %d, later at %d, the same at %d; at the median %s",
			count(n, "bad stretch", "bad stretches"), c.Earlier, c.Later, c.Same,
			shift(int64(median(outcomes)), median(seconds)))
	}
	return fmt.Sprintf("%s; only A found %d, only B %d", words, c.OnlyA, c.OnlyB)
}

// shift says by how much A is later or earlier.
func shift(outcomes int64, seconds float64) string {
	switch {
	case outcomes > 0:
		return "later by " + delay(outcomes, seconds)
	case outcomes < 0:
		return "earlier by " + delay(-outcomes, -seconds)
	}
	return "the same"
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// totalRows are all circuits together, by what counts: B, then A, and what taking A instead changes.
func totalRows(a, b *backtest.Totals) [][]string {
	rows := [][]string{{"IN ALL", "B", "A", "A INSTEAD OF B"}}
	number := func(name string, a, allA, b, allB int64) {
		of := func(n, all int64) string { return fmt.Sprintf("%d of %d (%s)", n, all, share(n, all)) }
		rows = append(rows, []string{name, of(b, allB), of(a, allA), change(a - b)})
	}
	number("bad answers avoided", a.Refused.Failures, a.Failures, b.Refused.Failures, b.Failures)
	if a.Others+b.Others > 0 {
		number("neutral answers avoided", a.Refused.Others, a.Others, b.Refused.Others, b.Others)
	}
	number("good answers refused", a.Refused.Accepted, a.Accepted, b.Refused.Accepted, b.Accepted)
	spend := dollars(a.Refused.CostUSD - b.Refused.CostUSD)
	if a.Refused.CostUSD > b.Refused.CostUSD {
		spend = "+" + spend
	}
	openA, openB := backtest.Share(a.OpenSeconds, a.Seconds), backtest.Share(b.OpenSeconds, b.Seconds)
	return append(rows,
		[]string{"spend avoided", dollars(b.Refused.CostUSD), dollars(a.Refused.CostUSD), spend},
		[]string{"share of time open", points(openB), points(openA), fmt.Sprintf("%+.1f points", 100*(openA-openB))},
		[]string{"openings", fmt.Sprint(b.Openings), fmt.Sprint(a.Openings), change(int64(a.Openings - b.Openings))},
		[]string{"trips, with failed probes", fmt.Sprint(b.Trips), fmt.Sprint(a.Trips),
			change(int64(a.Trips - b.Trips))},
	)
}

// change writes how many more there are, or fewer.
func change(n int64) string { return fmt.Sprintf("%+d", n) }

// differing returns the indexes of the circuits that opened under one policy or both: where openings differ first, then
// the worst under A.
func differing(a *backtestSide, c *backtest.Comparison) []int {
	place := make(map[string]int, len(a.worst))
	for i, circuit := range a.worst {
		place[circuit.Circuit] = i
	}
	var order []int
	for i := range c.Circuits {
		if c.Circuits[i].Opened() {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(x, y int) int {
		dx, dy := &c.Circuits[x], &c.Circuits[y]
		return cmp.Or(cmp.Compare(len(dy.OnlyA)+len(dy.OnlyB), len(dx.OnlyA)+len(dx.OnlyB)),
			cmp.Compare(place[dx.Circuit], place[dy.Circuit]))
	})
	return order
}

// quiet returns the indexes of the circuits that opened under neither policy, by name.
func quiet(c *backtest.Comparison) (quiet []int) {
	for i := range c.Circuits {
		if !c.Circuits[i].Opened() {
			quiet = append(quiet, i)
		}
	}
	return quiet
}

// compareRows are the circuits, each with what B does and what A does instead. What is neutral has a column where any
// of it is refused.
func compareRows(a, b *backtestSide, c *backtest.Comparison, circuits []int) [][]string {
	rows := [][]string{{"CIRCUIT", "FIRST FOUND", "ONLY B", "ONLY A", "BAD AVOIDED", neutralAvoided, "GOOD REFUSED",
		"SPEND AVOIDED", "OPEN"}}
	neutral := false
	for _, i := range circuits {
		d, ca, cb := &c.Circuits[i], a.report.Circuits[i], b.report.Circuits[i]
		first := "-"
		if len(d.Pairs) > 0 {
			first = "A " + shift(d.Pairs[0].Outcomes, d.Pairs[0].Seconds)
		}
		rows = append(rows, []string{
			d.Circuit, first, fmt.Sprint(len(d.OnlyB)), fmt.Sprint(len(d.OnlyA)),
			instead(fmt.Sprint(cb.Refused.Failures), fmt.Sprint(ca.Refused.Failures)),
			instead(fmt.Sprint(cb.Refused.Others), fmt.Sprint(ca.Refused.Others)),
			instead(fmt.Sprint(cb.Refused.Accepted), fmt.Sprint(ca.Refused.Accepted)),
			instead(dollars(cb.Refused.CostUSD), dollars(ca.Refused.CostUSD)),
			instead(points(cb.OpenShare()), points(ca.OpenShare())),
		})
		neutral = neutral || ca.Refused.Others+cb.Refused.Others > 0
	}
	if !neutral {
		dropColumn(rows, neutralAvoided)
	}
	return rows
}

// instead writes what B has, and what A has instead.
func instead(b, a string) string {
	if a == b {
		return a
	}
	return b + " → " + a
}

// difference prints a circuit's timeline under both policies, and the openings in order.
func (p *backtestPrinter) difference(a, b *backtestSide, n int, d *backtest.Difference) {
	ca, cb := a.report.Circuits[n], b.report.Circuits[n]
	p.line("\n%s", p.paint.bold(d.Circuit))
	p.timeline(a.lines[d.Circuit], ca, "A")
	if line := b.lines[d.Circuit]; line != nil {
		from, to := p.clocks(cb)
		p.marks(line.Thinned(p.columns(from, to, "B")), cb, "B", from)
	}
	for _, pair := range d.Pairs[:p.most(len(d.Pairs), listedTrips)] {
		p.line("  %s  both: B by %s, A by %s, %s", stamp(pair.B), pair.RuleB, pair.RuleA,
			strings.TrimPrefix(shift(pair.Outcomes, pair.Seconds), "the "))
	}
	for side, only := range [][]backtest.Trip{d.OnlyA, d.OnlyB} {
		for i := range only[:p.most(len(only), listedTrips)] {
			p.trip(&only[i], "  only "+sideNames[side]+"  ")
		}
	}
}
