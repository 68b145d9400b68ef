package console

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/near"
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

// overrideForm is what the form needs.
type overrideForm struct {
	MayOperate   bool
	Many         bool   // Of all that a glob means.
	Target, Verb string // The circuit or the glob, and what the button says.
	Said         Word   // What was typed before.
	Faults       map[string]string
}

// newOverrideForm returns an empty form, of a circuit or of all that a glob means.
func (c *Console) newOverrideForm(target string, many bool) overrideForm {
	f := overrideForm{MayOperate: c.config.AdminToken != "", Many: many, Target: target, Verb: "Say it"}
	if many {
		f.Verb = "Show them"
	}
	return f
}

// againView is the page of a form with faults.
type againView struct {
	frame
	overrideForm
}

// again shows the form with what was typed, but for the token, and what is wrong with it.
func (c *Console) again(w http.ResponseWriter, status int, form overrideForm, notice string) {
	v := againView{c.frame("circuits", "Not done"), form}
	v.Notice = notice
	c.render(w, status, "again", v)
}

// overridePage takes an operator's word from a form: of a circuit, or of all that a glob means. Those it first shows,
// and asks; so it does where nobody has heard of the circuit.
func (c *Console) overridePage(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, formMost)
	if err := r.ParseForm(); err != nil {
		c.trouble(w, http.StatusBadRequest, "Not understood", "The form could not be read: "+err.Error())
		return
	}
	typed := func(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }
	circuit := r.PostForm.Get("circuit")
	form := c.newOverrideForm(cmp.Or(circuit, typed("match")), circuit == "")
	form.Said = Word{Mode: typed("mode"), TTL: typed("ttl"), Actor: typed("actor"), Reason: typed("reason")}
	form.Faults = form.Said.faults()
	status, why := c.mayOperate("Bearer " + r.PostForm.Get("token"))
	switch {
	case status == http.StatusUnauthorized:
		form.Faults["token"] = "This is not FUSEBOX_ADMIN_TOKEN."
	case status != http.StatusOK:
		c.trouble(w, status, "Not done", sentence(why+overrideNeedsNone)+".")
		return
	case len(form.Faults) > 0:
		status = http.StatusUnprocessableEntity
	}
	if len(form.Faults) > 0 {
		c.again(w, status, form, "Nothing was said. Mend what is marked, and give the token again.")
		return
	}
	names, err := c.meant(&form)
	switch {
	case err != nil:
		c.trouble(w, http.StatusServiceUnavailable, "One moment", sentence(err.Error()))
	case len(form.Faults) > 0:
		c.again(w, http.StatusUnprocessableEntity, form, "Nothing was said. Mend what is marked.")
	case r.PostForm.Get("sure") != "yes" && form.Many:
		c.render(w, http.StatusOK, "confirm", c.question(&form, names))
	case r.PostForm.Get("sure") != "yes" && c.isNew(circuit):
		c.render(w, http.StatusOK, "confirm", c.questionOfNew(&form))
	default:
		c.sayFromForm(w, r, form, names)
	}
}

// meant returns the circuits that a form means. Where it means none it notes so among the faults.
func (c *Console) meant(form *overrideForm) ([]string, error) {
	if !form.Many {
		if err := schemas.CheckCircuit(form.Target); err != nil {
			return nil, err
		}
		if form.Said.Mode == schemas.Clear.String() && c.isNew(form.Target) {
			form.Faults["mode"] = "Nobody has heard of this circuit: there is nothing to clear."
		}
		return []string{form.Target}, nil
	}
	names, err := c.view.matching(breaker.Glob(form.Target))
	if n := len(names); err == nil && (n == 0 || n > MostOverrides) {
		form.Faults["match"] = fmt.Sprintf("This means %d known circuits; want 1 to %d", n, MostOverrides)
		if n == 0 {
			form.Faults["match"] += near.Question(c.view.near(form.Target))
		}
	}
	return names, err
}

// isNew tells whether it is known that nobody has heard of a circuit.
func (c *Console) isNew(circuit string) bool {
	_, known, err := c.view.state(circuit, time.Now())
	return err == nil && !known
}

func (c *Console) sayFromForm(w http.ResponseWriter, r *http.Request, form overrideForm, names []string) {
	out, err := c.say(r.Context(), names, form.Said)
	switch {
	case err != nil:
		status := http.StatusInternalServerError
		if known, is := errors.AsType[huma.StatusError](err); is {
			status = known.GetStatus()
		}
		c.again(w, status, form, sentence(err.Error()))
	case len(names) == 1 && out.Status == http.StatusOK:
		http.Redirect(w, r, circuitLink(names[0]), http.StatusSeeOther)
	default:
		c.render(w, out.Status, "confirm", c.outcome(&form.Said, names, out))
	}
}

// faults says what is wrong with a word from a form, by the field.
func (w *Word) faults() map[string]string {
	faults := map[string]string{}
	if w.Actor == "" || len(w.Actor) > 200 {
		faults["actor"] = "Say who says so, in 1 to 200 bytes."
	}
	if !isMode(w.Mode) {
		faults["mode"] = "Say what the circuit is to be."
	}
	if w.Reason == "" || len(w.Reason) > 256 {
		faults["reason"] = "Say why, in 1 to 256 bytes."
	}
	if _, err := w.ttl(); err != nil {
		faults["ttl"] = sentence(err.Error()) + "."
	}
	return faults
}

// modes are what an operator may say, and what it means.
var modes = []field{
	{"force_open", "force open: routers do not call it"},
	{"force_closed", "force closed: routers call it, no rule acts"},
	{"disable", "disable: routers call it, nothing is counted"},
	{"clear", "clear: end the override"},
	{"reset", "reset: closed, as if it had never tripped"},
}

func isMode(name string) bool {
	_, known := schemas.ModeOf(name)
	return known
}

func (c *Console) question(form *overrideForm, names []string) confirmView {
	v := c.newQuestion(form, "match")
	v.Heading = fmt.Sprintf("%s %s?", form.Said.Mode, number(len(names), "circuit"))
	v.Words = fmt.Sprintf("%s means these. %s", form.Target, form.Said.asked())
	v.name(c, names)
	return v
}

// questionOfNew asks whether a circuit is meant that nobody has heard of.
func (c *Console) questionOfNew(form *overrideForm) confirmView {
	v := c.newQuestion(form, "circuit")
	v.Heading = fmt.Sprintf("%s %s, of which nobody has heard?", form.Said.Mode, form.Target)
	v.Words = form.Said.asked() + ". The word makes this circuit, and it stays known afterwards."
	if nearby := c.view.near(form.Target); len(nearby) > 0 {
		v.Words += " Is one of these meant?"
		v.name(c, nearby)
	}
	return v
}

// asked is what an operator asks for, in words.
func (w *Word) asked() string {
	words := w.Actor + " says: " + w.Reason
	if w.TTL != "" {
		words += ", for " + w.TTL
	}
	return words
}

func (c *Console) newQuestion(form *overrideForm, target string) confirmView {
	return confirmView{
		frame: c.frame("circuits", "Override"), Actor: form.Said.Actor, Form: []field{
			{target, form.Target}, {"mode", form.Said.Mode}, {"ttl", form.Said.TTL}, {"reason", form.Said.Reason},
		},
	}
}

func (c *Console) outcome(said *Word, names []string, out *saidOutput) confirmView {
	v := confirmView{
		frame: c.frame("circuits", "Override"), Heading: "Said",
		Words: fmt.Sprintf("%s is on the log for %s, and processors have answered for %d of them.",
			said.Mode, number(len(names), "circuit"), len(out.Body.Circuits)),
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
