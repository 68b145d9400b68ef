package examples_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// town is a gateway or two in front of one provider of models.
type town struct {
	*testing.T
	*site
	model string
}

func newTown(t *testing.T) *town {
	t.Helper()
	s := newSite(t)
	model := start(t, exec.Command(built(t, "./model"), "-addr", "127.0.0.1:0"))
	return &town{T: t, site: s, model: model.await(`answers at (\S+)`)[1]}
}

// open starts a gateway and returns its URL too.
func (v *town) open(name string) (*process, string) {
	v.Helper()
	p := start(v.T, exec.Command(built(v.T, "./gateway"),
		"-name", name, "-brokers", v.broker, "-model", v.model, "-addr", "127.0.0.1:0"))
	return p, p.await(`answers at (\S+)`)[1]
}

// mood changes what a model's answers are worth.
func (v *town) mood(model, mood string) {
	v.Helper()
	request, err := http.NewRequestWithContext(v.Context(), http.MethodPut, v.model+"/moods/"+model+"?mood="+mood, nil)
	if err != nil {
		v.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil || answer.StatusCode != http.StatusOK {
		v.Fatalf("PUT %s: %v, %v", request.URL, answer, err)
	}
	answer.Body.Close()
}

// reply is what a gateway answers.
type reply struct {
	status     int
	retryAfter string

	Circuit   string
	Detail    string
	Otherwise string
	text      string
}

// ask asks a gateway once.
func (v *town) ask(url string) reply {
	v.Helper()
	answer, err := http.Post(url+"/ask", "application/json", strings.NewReader(`{"question": "Which one?"}`))
	if err != nil {
		v.Fatal(err)
	}
	defer answer.Body.Close()
	r := reply{status: answer.StatusCode, retryAfter: answer.Header.Get("Retry-After")}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		v.Fatal(err)
	}
	if r.text = string(text); json.Unmarshal(text, &r) != nil {
		v.Fatalf("%s answers %d: %s", url, r.status, text)
	}
	return r
}

// until asks a gateway every so often until its answer is as wanted, and returns that.
func (v *town) until(url string, want func(reply) bool) reply {
	v.Helper()
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		r := v.ask(url)
		if want(r) {
			return r
		}
		if time.Since(begin) > patience {
			v.Fatalf("%v later the gateway still answers %d %s", patience, r.status, r.text)
		}
	}
}

// untilSaid asks a gateway every so often until a gateway says something.
func (v *town) untilSaid(url string, p *process, pattern string) {
	v.Helper()
	said := regexp.MustCompile(pattern)
	v.until(url, func(reply) bool { return p.next(said) != nil })
}

func through(circuit string) func(reply) bool {
	return func(r reply) bool { return r.status == http.StatusOK && r.Circuit == circuit }
}

const (
	primary = "submission-extraction:gpt-primary:v4"
	older   = "submission-extraction:gpt-primary:v3"
)

// TestGateway takes a gateway through bad answers, the fallback by cause, refusals, a probe and the recovery.
func TestGateway(t *testing.T) {
	t.Parallel()
	v := newTown(t)
	gateway, url := v.open("gateway-1")
	for range 5 {
		if r := v.ask(url); !through(primary)(r) {
			t.Fatalf("at first the gateway answers %d %s, want an answer through %s", r.status, r.text, primary)
		}
	}
	v.mood("gpt-primary:v4", "vague")
	v.until(url, func(r reply) bool {
		if r.status != http.StatusOK || r.Circuit == primary {
			t.Fatalf("the gateway answers %d %s, want an answer, and through another circuit", r.status, r.text)
		}
		return v.metric(t, "fusebox_trips_total", `circuit="`+primary+`"`) == 1
	})
	gateway.await(primary + ` is open: failure-ratio: .* all missing_evidence`)
	if r := v.ask(url); !through(older)(r) {
		t.Errorf("while the circuit is open the gateway answers %d %s, want an answer through %s",
			r.status, r.text, older)
	}
	v.mood("gpt-primary:v3", "vague")
	refused := v.until(url, func(r reply) bool { return strings.Contains(r.Detail, older+" refuses") })
	t.Logf("refused, Retry-After %s: %s", refused.retryAfter, refused.text)
	if refused.status != http.StatusServiceUnavailable || refused.retryAfter != "2" ||
		refused.Otherwise != "human-review" || !strings.Contains(refused.Detail, "missing_evidence") {
		t.Errorf("the gateway answers %d, Retry-After %s, %s; want 503, 2, a cause and what to do otherwise",
			refused.status, refused.retryAfter, refused.text)
	}
	v.untilSaid(url, gateway, primary+` is being tested by gateway-1`)
	gateway.await(primary + ` is open: the probe failed: missing_evidence`)
	v.mood("gpt-primary:v4", "good")
	v.until(url, through(primary))
	gateway.await(primary + ` is being tested by gateway-1`)
	gateway.await(primary + ` is closed`)
}

// TestGatewayLeaves ends a gateway while a model takes its time: the call gets its answer, and the gateway ends well.
func TestGatewayLeaves(t *testing.T) {
	t.Parallel()
	v := newTown(t)
	asked := make(chan struct{}, 1)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		time.Sleep(6 * time.Second) // A model at work.
		_, _ = io.WriteString(w, `{"text": "It is 4711.", "sources": ["page 3"]}`)
	}))
	defer slow.Close()
	cmd := exec.Command(built(t, "./gateway"), "-model", slow.URL, "-addr", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "FUSEBOX_BROKERS="+v.broker)
	gateway := start(t, cmd)
	url := gateway.await(`answers at (\S+)`)[1]
	go func() {
		<-asked
		_ = cmd.Process.Signal(syscall.SIGTERM) // It is alive, or the answer below is none.
	}()
	if r := v.ask(url); !through(primary)(r) {
		t.Errorf("while it leaves the gateway answers %d %s, want the answer", r.status, r.text)
	}
	gateway.end()
}

// TestModelMoods wants a mood and a model that nobody knows refused, and those that there are named.
func TestModelMoods(t *testing.T) {
	t.Parallel()
	model := start(t, exec.Command(built(t, "./model"), "-addr", "127.0.0.1:0")).await(`answers at (\S+)`)[1]
	for _, tt := range []struct {
		path   string
		status int
		names  string
	}{
		{"gpt-primary:v4?mood=grumpy", http.StatusBadRequest, "good, vague, hung"},
		{"nope?mood=good", http.StatusNotFound, "gpt-primary:v4, gpt-primary:v3, gpt-secondary:v4"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, model+"/moods/"+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != tt.status || !strings.Contains(string(text), tt.names) {
			t.Errorf("PUT %s = %d %s (%v), want %d and %s", tt.path, answer.StatusCode, text, err, tt.status, tt.names)
		}
	}
}

// TestGatewayDies kills a gateway in the middle of its probe. The other one refuses with that reason until the lease
// expires, and probes then.
func TestGatewayDies(t *testing.T) {
	t.Parallel()
	v := newTown(t)
	first, one := v.open("gateway-1")
	second, two := v.open("gateway-2")
	v.mood("gpt-primary:v4", "vague")
	v.untilSaid(one, second, primary+` is open: failure-ratio`)
	v.mood("gpt-primary:v4", "hung")
	var asking sync.WaitGroup
	defer asking.Wait()
	asking.Go(func() {
		for range 100 { // One of them is the probe, and never comes back.
			answer, err := http.Post(one+"/ask", "application/json", strings.NewReader(`{"question": "Which one?"}`))
			if err != nil {
				return
			}
			answer.Body.Close()
			time.Sleep(20 * time.Millisecond)
		}
	})
	second.await(primary + ` is being tested by gateway-1`)
	began := time.Now()
	first.kill()
	v.mood("gpt-primary:v4", "good")
	if r := v.ask(two); !through(older)(r) {
		t.Errorf("while the dead one's lease lives the other answers %d %s, want an answer through %s",
			r.status, r.text, older)
	}
	v.until(two, through(primary))
	took := time.Since(began)
	second.await(primary + ` is being tested by gateway-2`)
	second.await(primary + ` is closed`)
	if took < 1500*time.Millisecond || took > 5*time.Second {
		t.Errorf("the route is in use again after %v, want it after the lease time, 2s", took)
	}
	t.Logf("the route is in use again %v after the death of the prober; the lease time is 2s",
		took.Round(time.Millisecond))
}
