package console

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

const (
	formMost   = 16 << 10 // Bytes of a form.
	namesShown = 200
)

// confirmView asks whether an operator means it, or says what came of it.
type confirmView struct {
	frame
	Heading, Words string
	Names          []named
	More           int
	Form           []field // Of the question; none where nothing is asked.
	Actor          string
}

// named is a circuit and what it is now.
type named struct{ Name, Link, Now string }

// field is a part of a form that is sent on.
type field struct{ Name, Value string }

// overridePage takes an operator's word from a form: of a circuit, or of all that a glob means. Those it first shows,
// and asks.
func (c *Console) overridePage(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, formMost)
	if err := r.ParseForm(); err != nil {
		c.trouble(w, http.StatusBadRequest, "Not understood", "The form could not be read: "+err.Error())
		return
	}
	if status, why := c.mayOperate("Bearer " + r.PostForm.Get("token")); status != http.StatusOK {
		why += overrideNeedsNone
		if status == http.StatusUnauthorized {
			why = "The token is not FUSEBOX_ADMIN_TOKEN. Go back and say it again."
		}
		c.trouble(w, status, "Not done", sentence(why))
		return
	}
	said := Word{
		Mode: r.PostForm.Get("mode"), TTL: strings.TrimSpace(r.PostForm.Get("ttl")),
		Actor: strings.TrimSpace(r.PostForm.Get("actor")), Reason: strings.TrimSpace(r.PostForm.Get("reason")),
	}
	circuit, match := r.PostForm.Get("circuit"), r.PostForm.Get("match")
	if why := said.fault(); why != "" {
		c.trouble(w, http.StatusUnprocessableEntity, "Not done", why)
		return
	}
	names, err := []string{circuit}, error(nil)
	if circuit == "" {
		names, err = c.view.matching(breaker.Glob(match))
	}
	if err != nil {
		c.trouble(w, http.StatusServiceUnavailable, "One moment", sentence(err.Error()))
		return
	}
	if len(names) == 0 || len(names) > MostOverrides {
		c.trouble(w, http.StatusUnprocessableEntity, "Not done",
			fmt.Sprintf("%s means %d known circuits; want 1 to %d.", match, len(names), MostOverrides))
		return
	}
	if circuit == "" && r.PostForm.Get("sure") != "yes" {
		c.render(w, http.StatusOK, "confirm", c.question(&said, match, names))
		return
	}
	out, err := c.say(r.Context(), names, said)
	if err != nil {
		c.trouble(w, http.StatusUnprocessableEntity, "Not done", sentence(err.Error()))
		return
	}
	if len(names) == 1 && out.Status == http.StatusOK {
		http.Redirect(w, r, circuitLink(names[0]), http.StatusSeeOther)
		return
	}
	c.render(w, out.Status, "confirm", c.outcome(&said, names, out))
}

// fault says what is wrong with a word from a form, "" where nothing is.
func (w *Word) fault() string {
	switch {
	case w.Actor == "" || len(w.Actor) > 200:
		return "Say who says so, in 1 to 200 bytes."
	case !isMode(w.Mode):
		return "Say what the circuit is to be."
	case w.Reason == "" || len(w.Reason) > 256:
		return "Say why, in 1 to 256 bytes."
	}
	if _, err := w.ttl(); err != nil {
		return "For how long: " + err.Error() + "."
	}
	return ""
}

func isMode(name string) bool {
	_, known := schemas.ModeOf(name)
	return known
}

func (c *Console) question(said *Word, match string, names []string) confirmView {
	v := confirmView{
		frame: c.frame("circuits", "Override"), Heading: fmt.Sprintf("%s %d circuits?", said.Mode, len(names)),
		Words: fmt.Sprintf("%s means these. %s says: %s", match, said.Actor, said.Reason), Actor: said.Actor,
		Form: []field{
			{"match", match}, {"mode", said.Mode}, {"ttl", said.TTL}, {"reason", said.Reason},
		},
	}
	if said.TTL != "" {
		v.Words += ", for " + said.TTL
	}
	v.name(c, names)
	return v
}

func (c *Console) outcome(said *Word, names []string, out *saidOutput) confirmView {
	v := confirmView{
		frame: c.frame("circuits", "Override"), Heading: "Said",
		Words: fmt.Sprintf("%s is on the log for %d circuits, and processors have answered for %d of them.",
			said.Mode, len(names), len(out.Body.Circuits)),
	}
	v.name(c, names)
	return v
}

// name fills in the circuits, up to so many.
func (v *confirmView) name(c *Console, names []string) {
	for _, name := range names[:min(len(names), namesShown)] {
		s, _, _ := c.view.state(name, v.Now) // One that has gone meanwhile is closed.
		v.Names = append(v.Names, named{name, circuitLink(name), wordOf(s.State)})
	}
	v.More = len(names) - len(v.Names)
}
