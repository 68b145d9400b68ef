//go:build synctests

package console_test

import (
	"net/url"
	"strings"
	"testing"
)

// form posts the override form.
func (w *world) form(fields ...string) answer {
	v := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		v.Set(fields[i], fields[i+1])
	}
	return w.ask(0, "POST", "/override", "Content-Type: application/x-www-form-urlencoded\n\n"+v.Encode())
}

// wants wants texts on a page, and others not.
func (a answer) wants(t *testing.T, what string, status int, texts ...string) {
	t.Helper()
	if a.status != status {
		t.Errorf("%s = %d, want %d", what, a.status, status)
	}
	for _, text := range texts {
		if no, not := strings.CutPrefix(text, "not "); strings.Contains(a.body, no) == not {
			t.Errorf("%s: want %q in %s", what, text, a.body)
		}
	}
}

// TestFormAgain: who mistypes something gets the form again with all that was typed, but for the token.
func TestFormAgain(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.report(circuit, "accepted", 1)
		w.await(circuit, "closed")
		typed := []string{"circuit", circuit, "mode", "disable", "actor", "ann", "reason", "a <test>"}
		kept := []string{`value="ann"`, `value="a &lt;test&gt;"`, `value="disable" selected`, `value="` + circuit + `"`}
		w.form(append(typed, "ttl", "30m", "token", "hunter2")...).wants(t, "a wrong token", 401,
			append(kept, "This is not FUSEBOX_ADMIN_TOKEN.", `value="30m"`, "not hunter2", "not Want a time")...)
		w.form(append(typed, "ttl", "soon", "token", adminToken)...).wants(t, "a bad ttl", 422,
			append(kept, "Want a time such as 30m", `value="soon"`, "not "+adminToken)...)
		w.form("match", "case:ruote:v1", "mode", "disable", "actor", "ann", "reason", "x", "token", adminToken).
			wants(t, "a glob of none", 422, "This means 0 known circuits", "did you mean "+circuit, `value="ann"`)
		w.form("match", "case:route:*", "mode", "disable", "actor", "ann", "reason", "x", "token", adminToken).
			wants(t, "a glob of one", 200, "disable 1 circuit?")
		if a := w.form(append(typed, "token", adminToken)...); a.status != 303 {
			t.Errorf("all as it should be = %d %s, want 303", a.status, a.body)
		}
		w.await(circuit, "disabled")
	})
}

// TestFormOfUnknown: the console asks before it makes a circuit, and names those that may be meant.
func TestFormOfUnknown(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.report(circuit, "accepted", 1)
		w.await(circuit, "closed")
		const mistyped = "case:ruote:v1"
		w.get("/circuits/"+mistyped).wants(t, "the page of an unknown circuit", 404,
			`href="/circuits/`+url.PathEscape(circuit)+`"`, `name="token"`)
		typed := []string{"circuit", mistyped, "mode", "force_open", "actor", "ann", "reason", "x", "token", adminToken}
		w.form(typed...).wants(t, "the form", 200, "of which nobody has heard?", circuit, `name="sure"`)
		if a := w.get("/v1/circuits/" + mistyped); a.status != 404 {
			t.Errorf("before the question is answered the circuit is %s", a.body)
		}
		if a := w.form(append(typed, "sure", "yes")...); a.status != 303 {
			t.Errorf("the answer = %d %s, want 303", a.status, a.body)
		}
		w.await(mistyped, "forced_open")
		w.form("circuit", "other", "mode", "clear", "actor", "ann", "reason", "x", "token", adminToken).
			wants(t, "a clear of an unknown one", 422, "there is nothing to clear")
	})
}

// TestOpenCircuitPages: of an open circuit the pages say why its windows are empty, and what they held at the trip.
func TestOpenCircuitPages(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.report(circuit, "accepted", 1)
		w.report(circuit, "transport_failure", 1)
		w.report(circuit, "missing_evidence", 2)
		w.await(circuit, "open")
		w.report(circuit, "accepted", 3)
		w.get("/circuits/"+circuit).wants(t, "its page", 200, "counted as while_open", "not no outcome lately",
			`href="#override"`)
		w.get("/").wants(t, "the list", 200, "25% <span", "75% <span", "at the trip")
	})
}

// TestFilter: the counts go by the filter and keep it, and a name that finds nothing is said to be a glob.
func TestFilter(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		for _, name := range []string{"case:gpt:v1", "case:gpt:v2", "other:x:v1"} {
			w.report(name, "accepted", 1)
			w.await(name, "closed")
		}
		w.report("case:gpt:v1", "missing_evidence", 4)
		w.await("case:gpt:v1", "open")
		w.get("/?match=*gpt*").wants(t, "*gpt*", 200, `<a href="/?match=%2Agpt%2A&amp;state=open"><b>1</b>`,
			`state=closed"><b>1</b>`, "1 to 2 of 2")
		w.get("/").wants(t, "all", 200, `<a href="/?state=closed"><b>2</b>`)
		w.get("/?match=gpt").wants(t, "gpt", 200, "This is a glob", `<a href="/?match=%2Agpt%2A">*gpt*</a>`)
	})
}
