package browser

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
)

// said is what a browser had to say, and what it asked for.
type said struct {
	mu     sync.Mutex // Guards what follows, which the browser's goroutine fills.
	all    []string
	urls   []string
	broken bool // It broke off what it loaded: see networkChanged.
}

// networkChanged is what a browser says when it breaks off whatever it loads, as an interface of this machine came or
// went: other tests start and end containers meanwhile.
const networkChanged = "net::ERR_NETWORK_CHANGED"

func (s *said) listen(event any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		s.all = append(s.all, fmt.Sprintf("%+v", e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		s.all = append(s.all, fmt.Sprintf("console.%s", e.Type))
	case *log.EventEntryAdded:
		if strings.Contains(e.Entry.Text, networkChanged) {
			s.broken = true
			return
		}
		s.all = append(s.all, e.Entry.Text)
	case *network.EventRequestWillBeSent:
		s.urls = append(s.urls, e.Request.URL)
	}
}

// wasBroken tells whether the browser broke something off since it was asked last.
func (s *said) wasBroken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	broken := s.broken
	s.broken = false
	return broken
}

// check wants that nothing was said, and nothing asked for but what begins with home.
func (s *said) check(t testing.TB, home string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) > 0 {
		t.Errorf("the browser says %q, want nothing", s.all)
	}
	for _, url := range s.urls {
		if !strings.HasPrefix(url, home) && !strings.HasPrefix(url, "data:") {
			t.Errorf("the page asks for %s, want nothing but from %s", url, home)
		}
	}
}
