package console_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/fusebox-project/fusebox/internal/browser"
)

// TestLivePage: a page that is open shows a trip by itself, and keeps the keyboard's focus where it was.
func TestLivePage(t *testing.T) {
	ctx := browser.Start(t)
	s := newSite(t)
	s.open(t, ctx, "/", 1280, "light")
	const take = `document.querySelector('a[href="/circuits/case:slow:v1"]').focus()`
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[any](take)); err != nil {
		t.Fatal(err)
	}
	const row = `[...document.querySelectorAll("tbody tr")].find((r) =>
		r.textContent.includes("case:route-69:v1"))?.textContent ?? ""`
	s.post("/v1/outcomes", `{"circuit":"case:route-69:v1","kind":"contradictory_evidence"}`)
	s.until("the list shows the trip", func() bool {
		text, err := chromedp.Run(ctx, chromedp.Evaluate[string](row))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(text, "open") && strings.Contains(text, "one contradictory_evidence is enough")
	})
	const focus = `document.activeElement.getAttribute("href")`
	browser.Want(ctx, t, focus, "/circuits/case:slow:v1")
	const lose, banner = `window.fetch = () => Promise.reject(new Error("gone")); 0`,
		`document.getElementById("stale").checkVisibility() ? document.getElementById("stale").textContent : ""`
	browser.Want(ctx, t, banner, "")
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[any](lose)); err != nil {
		t.Fatal(err)
	}
	s.until("the page says that there is no answer", func() bool {
		got, err := chromedp.Run(ctx, chromedp.Evaluate[string](banner))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(got, "No answer since") && strings.Contains(got, "what was so then")
	})
	browser.Picture(ctx, t, "console-stale-1280-light.png")
}

// TestOverrideForm: an operator's word on one circuit, on many, and with the wrong token, in a browser.
func TestOverrideForm(t *testing.T) {
	ctx := browser.Start(t)
	s := newSite(t)
	s.open(t, ctx, "/circuits/case:route-01:v1", 1280, "light")
	say := func(mode string) {
		t.Helper()
		form := fmt.Sprintf(`(() => { const f = document.querySelector("form.override");
			f.mode.value = %q; f.ttl.value = "5m"; f.actor.value = "ann"; f.reason.value = "a <b>test</b>";
			f.token.value = "secret"; f.requestSubmit(); })()`, mode)
		if _, err := chromedp.Run(ctx, chromedp.Evaluate[any](form)); err != nil {
			t.Fatal(err)
		}
	}
	say("disable")
	s.until("the circuit's page shows it", func() bool {
		text := s.text(ctx)
		return strings.Contains(text, "disabled") && strings.Contains(text, "by ann: a <b>test</b>")
	})
	s.open(t, ctx, "/?match="+url.QueryEscape("case:route-0?:v1"), 1280, "light")
	say("force_closed")
	s.until("the page asks", func() bool {
		text := s.text(ctx)
		return strings.Contains(text, "force_closed 10 circuits?") && strings.Contains(text, "a <b>test</b>, for 5m")
	})
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[any](`(() => { const f = document.querySelector("form.override");
		f.token.value = "secret"; f.requestSubmit(f.sure); })()`)); err != nil {
		t.Fatal(err)
	}
	s.until("it is said", func() bool {
		return strings.Contains(s.text(ctx), "processors have answered for 10 of them")
	})
}

// TestOverrideFormRefuses: without the token, an actor, a reason, or a circuit that is known, nothing is said.
func TestOverrideFormRefuses(t *testing.T) {
	s := newSite(t)
	for name, tt := range map[string]struct {
		form   string
		status int
	}{
		"wrong token":    {"match=case:off:v1&mode=clear&actor=ann&reason=x&token=wrong", http.StatusUnauthorized},
		"no token":       {"match=case:off:v1&mode=clear&actor=ann&reason=x", http.StatusUnauthorized},
		"no actor":       {"match=case:off:v1&mode=clear&actor=+&reason=x&token=secret", 422},
		"no reason":      {"match=case:off:v1&mode=clear&actor=ann&token=secret", 422},
		"no such mode":   {"match=case:off:v1&mode=shut&actor=ann&reason=x&token=secret", 422},
		"ttl of a clear": {"match=case:off:v1&mode=clear&ttl=1m&actor=ann&reason=x&token=secret", 422},
		"nothing meant":  {"match=nobody&mode=clear&actor=ann&reason=x&token=secret", 422},
	} {
		answer, err := http.Post(s.url+"/override", "application/x-www-form-urlencoded", strings.NewReader(tt.form))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != tt.status {
			t.Errorf("%s: %s, want %d", name, answer.Status, tt.status)
		}
	}
	if text := s.body("/circuits/case:off:v1"); !strings.Contains(text, "by ann: test") {
		t.Error("the override is gone, though nothing was said")
	}
}

// text returns what the page that is open shows, "" while it is on its way.
func (s *site) text(ctx context.Context) string {
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body?.innerText ?? ""`))
	if err != nil {
		return ""
	}
	return text
}

// TestFirstPage: a page of circuits with long names is small, says all before any script has run, and is one of many.
func TestFirstPage(t *testing.T) {
	s := newSite(t)
	var outcomes []string
	for i := range 400 {
		name := fmt.Sprintf("case:%s-%03d:v1", strings.Repeat("route", 30), i)
		for range 4 {
			outcomes = append(outcomes, fmt.Sprintf(`{"circuit":%q,"kind":"missing_evidence"}`, name))
		}
	}
	for len(outcomes) > 0 {
		n := min(len(outcomes), 400)
		s.post("/v1/outcomes", "["+strings.Join(outcomes[:n], ",")+"]")
		outcomes = outcomes[n:]
	}
	s.until("all are known", func() bool {
		return s.status("/v1/circuits/"+url.PathEscape("case:"+strings.Repeat("route", 30)+"-399:v1")) == http.StatusOK
	})
	page := s.body("/")
	const most = 100 << 10
	if len(page) > most {
		t.Errorf("the first page has %d bytes, want at most %d", len(page), most)
	}
	for _, want := range []string{"missing_evidence", "routeroute", "open", "?page=2"} {
		if !strings.Contains(page, want) {
			t.Errorf("the first page has no %q in it", want)
		}
	}
	rows := 0
	for p := range 20 {
		rows += strings.Count(s.body(fmt.Sprintf("/?page=%d", p+1)), `<th scope="row">`)
	}
	if rows != 400+75 {
		t.Errorf("all pages have %d circuits, want 475", rows)
	}
}

func (s *site) body(path string) string {
	s.t.Helper()
	answer, err := http.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		s.t.Fatalf("GET %s = %s, %v", path, answer.Status, err)
	}
	return string(text)
}
