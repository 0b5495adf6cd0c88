// Package browsertest has a real browser look at pages. Only tests import it.
package browsertest

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Browser is one tab of a headless browser. A step that fails ends the test.
type Browser struct {
	t   testing.TB
	ctx context.Context
}

// patience bounds one step.
const patience = 30 * time.Second

// Open starts a browser that ends with the test, or skips the test and says why
// where there is none.
func Open(t testing.TB) *Browser {
	t.Helper()
	path := find()
	if path == "" {
		t.Skip("left out: there is no chromium on this machine to look at the page (Debian: apt-get install chromium)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()))
	allocated, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, done := chromedp.NewContext(allocated)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("closing the browser: %v", err)
		}
		done()
		stop()
	})
	// The first step starts the browser, which lives as long as its context: it
	// must have no time limit.
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatalf("starting %s: %v", path, err)
	}
	return &Browser{t: t, ctx: ctx}
}

func find() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// With is the same tab on behalf of a subtest.
func (b *Browser) With(t testing.TB) *Browser { return &Browser{t: t, ctx: b.ctx} }

func (b *Browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("the browser: %v", err)
	}
}

// Visit opens a page and waits until an element that the CSS selector names is there.
func (b *Browser) Visit(url, selector string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url), chromedp.WaitReady(chromedp.CSS(selector)))
}

// Leave closes the page, and with it its connections.
func (b *Browser) Leave() { b.t.Helper(); b.do(chromedp.Navigate("about:blank")) }

// Await waits until an element that the CSS selector names is there, however long it takes until ctx is done.
func (b *Browser) Await(limit time.Duration, selector string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, limit)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.WaitReady(chromedp.CSS(selector))); err != nil {
		b.t.Fatalf("waiting for %s: %v", selector, err)
	}
}

// Size sets the size of the window, and whether the page is asked to be dark.
func (b *Browser) Size(width, height int64, dark bool) {
	b.t.Helper()
	scheme := map[bool]string{true: "dark", false: "light"}[dark]
	b.do(chromedp.EmulateViewport(width, height), func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return chromedp.Void{}, err
	})
}

// Press presses keys on whatever has the focus.
func (b *Browser) Press(keys string) { b.t.Helper(); b.do(chromedp.KeyEvent(keys)) }

// Picture is a PNG of the whole page.
func (b *Browser) Picture() []byte {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatalf("taking a picture: %v", err)
	}
	return png
}

// Eval is the value of a JavaScript expression.
func Eval[T any](b *Browser, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}
