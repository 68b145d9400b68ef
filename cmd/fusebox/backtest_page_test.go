package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	cdpinput "github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/fusebox-project/fusebox/internal/browser"
)

// hostile is a circuit's name that would do something if it were taken for markup.
const hostile = `</script><script>alert(1)</script><b onmouseover="alert(2)">&amp;`

// writeHostile writes outcomes of which a circuit with a hostile name goes bad.
func writeHostile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "recorded.jsonl")
	writeRecorded(t, path, 20_000, 12)
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for i := range 200 {
		kind := "accepted"
		switch {
		case i%20 == 0:
			kind = "policy_rejection"
		case i > 100:
			kind = "invalid_contract"
		}
		fmt.Fprintf(file, `{"circuit":%q,"kind":%q,"time":"2026-09-14T12:01:%02d.%03dZ"}`+"\n",
			hostile, kind, i/4, i%4*250)
	}
	return path
}

// writeTruth names two stretches of the hostile circuit: one in which it is well, and one in which it goes bad.
func writeTruth(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	w := csv.NewWriter(&text)
	if err := w.WriteAll([][]string{
		{"circuit", "from", "to"},
		{hostile, "2026-09-14T12:01:02Z", "2026-09-14T12:01:05Z"}, {hostile, "2026-09-14T12:01:24Z", ""},
	}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "truth.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestBacktestPage opens the page in a browser, as a phone and a desk have it, by day and by night: it draws, fits,
// says why a circuit tripped, and wants nothing from anywhere.
func TestBacktestPage(t *testing.T) {
	ctx := browser.Start(t)
	lately := filepath.Join("testdata", "backtest", "lately.yaml")
	recorded, dir := writeHostile(t), t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	one, two, beside := path("one.html"), path("two.html"), path("beside.html")
	runBacktest(t, "--policy", lately, "--html", one, recorded)
	runBacktest(t, "--policy", lately, "--compare", builtin, "--html", two, recorded)
	shadowed := filepath.Join("testdata", "backtest", "shadowed.yaml")
	runBacktest(t, "--policy", shadowed, "--html", beside, recorded)
	truth := path("truth.html")
	runBacktest(t, "--policy", lately, "--truth", writeTruth(t), "--html", truth, recorded)

	for _, tt := range []struct {
		page   string
		width  int64
		scheme string
	}{
		{one, 1280, "light"}, {one, 390, "dark"}, {two, 1280, "dark"}, {two, 390, "light"},
		{beside, 1280, "light"}, {beside, 390, "dark"}, {truth, 1280, "light"}, {truth, 390, "dark"},
	} {
		name := strings.TrimSuffix(filepath.Base(tt.page), ".html")
		t.Run(fmt.Sprintf("%s-%d-%s", name, tt.width, tt.scheme), func(t *testing.T) {
			tab, cancel := chromedp.NewContext(ctx)
			defer cancel()
			openPage(t, tab, tt.page, tt.width, tt.scheme)
			if tt.page == truth {
				lookAtTruth(t, tab)
			}
		})
	}
}

// openPage opens a page and looks at it.
func openPage(t *testing.T, ctx context.Context, page string, width int64, scheme string) {
	t.Helper()
	browser.Open(ctx, t, "file://"+page, "file://"+page, width, scheme)
	look(t, ctx, width, scheme)
	name := strings.TrimSuffix(filepath.Base(page), ".html")
	browser.Picture(ctx, t, fmt.Sprintf("backtest-%s-%d-%s.png", name, width, scheme))
}

// look asks the page what it shows.
func look(t *testing.T, ctx context.Context, width int64, scheme string) {
	t.Helper()
	const painted = `(canvas) => new Set(new Uint32Array(
		canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size > 3`
	for _, tt := range []struct {
		expression string
		want       any
	}{
		{`document.scrollingElement.scrollWidth <= innerWidth`, true},
		{`innerWidth`, float64(width)},
		{`getComputedStyle(document.body).backgroundColor === "rgb(255, 255, 255)"`, scheme == "light"},
		{`document.querySelectorAll("section.circuit").length > 2`, true},
		{`[...document.querySelectorAll(".answers")].every((c) => c.querySelectorAll("canvas").length === 1)`, true},
		{`[...document.querySelectorAll(".rules")].some((c) => c.querySelectorAll("canvas").length === 1)`, true},
		{`[...document.querySelectorAll("canvas")].every(` + painted + `)`, true},
		{fmt.Sprintf(`[...document.querySelectorAll("section.circuit h2")].some((h) => h.textContent === %q)`, hostile),
			true},
		{`document.querySelectorAll("script").length`, float64(4)},
		{`document.querySelectorAll("[onmouseover]").length`, float64(0)},
		{`document.getElementById("tip").hidden`, true},
		{`[...document.querySelectorAll(".facts")].filter((f) => f.textContent === "200 outcomes: 95 accepted, ` +
			`95 bad (95 invalid_contract), 10 neutral (10 policy_rejection)").length`, float64(1)},
		{`data.sides.length < 2 || data.circuits.some((c) => c.sides[1]?.trips.length > 0)`, true},
	} {
		browser.Want(ctx, t, tt.expression, tt.want)
	}
	hover(t, ctx)
}

// lookAtTruth asks the page what it shows of what is known from outside.
func lookAtTruth(t *testing.T, ctx context.Context) {
	t.Helper()
	for _, tt := range []struct {
		expression string
		want       float64
	}{
		{`data.circuits.filter((c) => c.bad.length === 2).length`, 1},
		{`[...document.querySelectorAll(".key")].filter((k) => k.textContent.includes("known to be bad")).length`, 1},
		{`[...document.querySelectorAll(".facts")].filter((f) => f.textContent === "missed what is known to be bad ` +
			`from 2026-09-14 12:01:02 to 2026-09-14 12:01:05, 12 outcomes").length`, 1},
		{`data.circuits.find((c) => c.bad.length).sides[0].trips.filter((t) => t.false).length`, 0},
		{`+data.circuits.filter((c) => !c.bad.length).every((c) => c.sides[0].trips.every((t, i) => i || t.false))`, 1},
		{`+(document.querySelectorAll(".trips .note").length > 0)`, 1},
		{`+[...document.querySelectorAll(".caption")].every((c) => ` +
			`(c.offsetHeight > 0) === (c.nextElementSibling.innerHTML !== ""))`, 1},
	} {
		browser.Want(ctx, t, tt.expression, tt.want)
	}
}

// hover points at the first trip of the first circuit, and wants to be told its cause.
func hover(t *testing.T, ctx context.Context) {
	t.Helper()
	const place = `(() => {
		const circuit = data.circuits[0], side = circuit.sides.find((s) => s.trips.length), over =
			document.querySelector("#circuit-1 .answers .u-over");
		over.scrollIntoView({ block: "center" });
		const box = over.getBoundingClientRect();
		return [charts[0].valToPos(side.trips[0].at, "x") + box.left, box.top + box.height / 2];
	})()`
	at, err := chromedp.Run(ctx, chromedp.Evaluate[[]float64](place))
	if err != nil {
		t.Fatal(err)
	}
	moved := cdpinput.DispatchMouseEventTypeMouseMoved
	if err := chromedp.Do(ctx, chromedp.MouseEvent(moved, at[0]-1, at[1]),
		chromedp.MouseEvent(moved, at[0], at[1])); err != nil {
		t.Fatal(err)
	}
	const told = `(() => {
		const tip = document.getElementById("tip"), box = tip.getBoundingClientRect();
		const side = data.circuits[0].sides.find((s) => s.trips.length);
		return !tip.hidden && tip.textContent.includes(side.trips[0].words) && tip.textContent.includes("accepted") &&
			box.left >= 0 && box.right <= innerWidth;
	})()`
	if got, err := chromedp.Run(ctx, chromedp.Evaluate[bool](told)); err != nil || !got {
		text, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`document.getElementById("tip").textContent`))
		t.Errorf("pointing at the first trip shows %q, %v, want its cause, inside the page", text, err)
	}
}
