package page

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"gotest.tools/v3/assert"
)

// The page is tested in a headless Chromium, as Debian has it. Where there is none these tests are skipped, unless
// needChromium is set in the environment, as it is on the CI. The folder that keepShots names gets
// screenshots to look at.
const (
	needChromium = "PODORDER_NEED_CHROMIUM"
	keepShots    = "PODORDER_SCREENSHOTS"
)

// patience is for a machine that does much else. No test measures it.
const patience = 3 * time.Minute

var (
	chromiumOnce sync.Once
	chromium     context.Context
	quit         = func() {}
	chromiumErr  error
)

func TestMain(m *testing.M) {
	code := m.Run()
	quit()
	os.Exit(code)
}

// start starts the one browser of all tests.
func start(t *testing.T) context.Context {
	t.Helper()
	path, err := "", exec.ErrNotFound
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err = exec.LookPath(name); err == nil {
			break
		}
	}
	if err != nil {
		if os.Getenv(needChromium) != "" {
			t.Fatalf("%s is set, and there is no chromium: %v", needChromium, err)
		}
		t.Skip("there is no chromium to open the page with; apt-get install chromium")
	}
	chromiumOnce.Do(func() {
		home, err := os.MkdirTemp("", "podorder-chromium-*")
		if err != nil {
			chromiumErr = err
			return
		}
		opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(home),
			chromedp.Flag("disable-gpu", true), chromedp.Flag("hide-scrollbars", true))
		alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
		ctx, cancel := chromedp.NewContext(alloc)
		chromium = ctx
		quit = func() { cancel(); stop(); os.RemoveAll(home) }
		chromiumErr = chromedp.Do(ctx, chromedp.Navigate("about:blank"))
	})
	assert.NilError(t, chromiumErr, "starting chromium")
	return chromium
}

// tab is a tab with the page in it.
type tab struct {
	*testing.T
	ctx context.Context
	url string

	mu      sync.Mutex
	trouble []string
}

// open opens the page, with a fragment or none, in a tab of its own. At the end of the test nothing may
// have been logged, and nothing but the file may have been asked for.
func open(t *testing.T, html, fragment string) *tab {
	t.Helper()
	browser := start(t)
	path := filepath.Join(t.TempDir(), File)
	assert.NilError(t, os.WriteFile(path, []byte(html), 0o644))
	b := &tab{T: t, url: "file://" + path}
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithListener(b.listen))
	t.Cleanup(cancel)
	b.ctx, cancel = context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	b.do(call(log.Enable, cdp.Empty{}), call(network.Enable, network.EnableParams{}))
	b.size(1400, 1000)
	b.fresh(fragment)
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		assert.Check(t, len(b.trouble) == 0, "%s", strings.Join(b.trouble, "\n"))
	})
	return b
}

// call is a command of the protocol as an action.
func call[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

// listen keeps whatever should not be.
func (b *tab) listen(ev any) {
	said := ""
	switch ev := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		said = fmt.Sprintf("console: %s", ev.Type)
		for _, a := range ev.Args {
			said += " " + string(a.Value) + a.Description
		}
	case *runtime.EventExceptionThrown:
		said = "exception: " + ev.ExceptionDetails.Text
		if e := ev.ExceptionDetails.Exception; e != nil {
			said += " " + e.Description
		}
	case *log.EventEntryAdded:
		said = fmt.Sprintf("log: %s %s", ev.Entry.Text, ev.Entry.URL)
	case *network.EventRequestWillBeSent:
		if url := ev.Request.URL; !strings.HasPrefix(url, b.url) && !strings.HasPrefix(url, "data:") && url != "about:blank" {
			said = "request: " + url
		}
	}
	if said != "" {
		b.mu.Lock()
		b.trouble = append(b.trouble, said)
		b.mu.Unlock()
	}
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	assert.NilError(b, chromedp.Do(b.ctx, actions...))
}

// fresh opens the page anew: a change of the fragment alone would not.
func (b *tab) fresh(fragment string) {
	b.Helper()
	b.do(chromedp.Navigate(b.url+fragment), chromedp.Reload())
	b.wait(`document.body.dataset.shown !== undefined`)
}

// wait waits until an expression is true.
func (b *tab) wait(expression string) {
	b.Helper()
	for {
		_, err := chromedp.Run(b.ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(patience)))
		if err != nil && b.ctx.Err() == nil && strings.Contains(err.Error(), "Cannot find context") {
			continue // the document that was asked has just been replaced by the next one
		}
		assert.NilError(b, err, "waiting for %s", expression)
		return
	}
}

// cell waits until a cell is shown with so many pictures.
func (b *tab) cell(pictures int) {
	b.Helper()
	b.wait(fmt.Sprintf(`!document.getElementById('cell').hidden && document.querySelectorAll('#cell .pictures > svg').length === %d`, pictures))
}

func (b *tab) size(width, height int64) { b.do(chromedp.EmulateViewport(width, height)) }

// media sets light, dark or print.
func (b *tab) media(media, scheme string) {
	b.Helper()
	b.do(call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}))
}

// get evaluates an expression.
func get[T any](b *tab, expression string) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	assert.NilError(b, err, expression)
	return v
}

// shot keeps a screenshot, where somebody wants to look at it.
func (b *tab) shot(name string, whole bool) {
	b.Helper()
	dir := os.Getenv(keepShots)
	if dir == "" {
		return
	}
	take := chromedp.CaptureScreenshot()
	if whole {
		take = chromedp.FullScreenshot(100)
	}
	png, err := chromedp.Run(b.ctx, take)
	assert.NilError(b, err)
	assert.NilError(b, os.MkdirAll(dir, 0o755))
	assert.NilError(b, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644))
}
