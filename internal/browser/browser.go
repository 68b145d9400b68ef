// Package browser gives tests a Chromium to look at pages with, and holds what every page has to be like: the browser
// says nothing of it, and it asks for nothing from elsewhere.
package browser

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

// patience is how long a test may use its browser.
const patience = 2 * time.Minute

// Start returns the context of a browser that ends with the test. It is a need, see kafkatest.Require.
func Start(t testing.TB) context.Context {
	t.Helper()
	path := kafkatest.Chromium(t)
	deadline, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox)
	allocator, cancel := chromedp.NewExecAllocator(deadline, options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil { // The tabs of later contexts are this browser's.
		t.Fatal(err)
	}
	return ctx
}

// Open opens the page at a URL in a window so wide, in the colour scheme light or dark. Until the test ends the browser
// must say nothing of it, and the page ask for nothing whose URL does not begin with home.
func Open(ctx context.Context, t testing.TB, url, home string, width int64, scheme string) {
	t.Helper()
	var heard said
	if err := chromedp.Listen(ctx, heard.listen); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { heard.check(t, home) })
	prefers := func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 900), chromedp.Func(prefers)); err != nil {
		t.Fatal(err)
	}
	for {
		err := chromedp.Do(ctx, chromedp.Navigate(url))
		if broken := heard.wasBroken(); err == nil && !broken {
			return
		}
		if err != nil && !strings.Contains(err.Error(), networkChanged) {
			t.Fatal(err)
		}
	}
}

// Want evaluates an expression of JavaScript on the page that is open, waits for it where it is a promise, and wants a
// text, a number as a float64, or a bool.
func Want(ctx context.Context, t testing.TB, expression string, want any) {
	t.Helper()
	await := func(p *runtime.EvaluateParams) { p.AwaitPromise = new(true) }
	got, err := chromedp.Run(ctx, chromedp.Evaluate[any](expression, await))
	if err != nil || got != want {
		t.Errorf("%s = %v, %v, want %v", expression, got, err, want)
	}
}

// Picture keeps what the page looks like in the directory FUSEBOX_TEST_PICTURES, where that is set.
func Picture(ctx context.Context, t testing.TB, name string) {
	t.Helper()
	dir := os.Getenv("FUSEBOX_TEST_PICTURES")
	if dir == "" {
		return
	}
	shot, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, name), shot, 0o600)); err != nil {
		t.Error(err)
	}
}
