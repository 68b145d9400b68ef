package console

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/fusebox-project/fusebox/processor/kafka"
	"github.com/fusebox-project/fusebox/schemas"
)

//go:embed web
var web embed.FS

// policy of the content: everything comes from here, and nothing stands in the page that could run.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"clock": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
	"hour":  func(t time.Time) string { return t.UTC().Format("15:04:05") },
	"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"word":  wordOf,
	"modes": func() []field { return modes },
	"join":  func(words []string) string { return strings.Join(words, ", ") },
}).ParseFS(web, "web/*.html"))

// number writes how many there are of something.
func number(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// assets is the version of what pages refer to: a page and its style always fit.
var assets = func() string {
	h := xxhash.New()
	for _, name := range []string{"console.css", "console.js"} {
		text, err := web.ReadFile("web/" + name)
		if err != nil {
			panic("console: " + err.Error())
		}
		_, _ = h.Write(text) // It never fails.
	}
	return fmt.Sprintf("%016x", h.Sum64())
}()

// frame is what every page has.
type frame struct {
	Page, Title       string
	Notice            string
	Instance, Version string
	Assets            string
	Now               time.Time
}

func (c *Console) frame(page, title string) frame {
	return frame{
		Page: page, Title: title, Instance: c.config.Instance, Version: c.config.Version, Assets: assets,
		Now: time.Now(),
	}
}

// badge is a word in its colour. The mark in front of it tells the colours apart for those who do not see them.
type badge struct{ Class, Word string }

// wordOf is the name of a state for people.
func wordOf(p schemas.Phase) string { return strings.ReplaceAll(p.String(), "_", " ") }

func newBadge(s *schemas.State) badge {
	class := map[schemas.Phase]string{
		schemas.Closed: "ok", schemas.Open: "bad", schemas.HalfOpen: "warn", schemas.ForcedOpen: "bad",
		schemas.ForcedClosed: "held", schemas.Disabled: "held",
	}[s.State]
	if s.State == schemas.Closed && s.Degraded != nil {
		return badge{"warn", "degraded"}
	}
	return badge{class, wordOf(s.State)}
}

// circuitLink is the page of a circuit.
func circuitLink(name string) string { return "/circuits/" + url.PathEscape(name) }

// registerPages adds what people look at.
func (c *Console) registerPages(mux *http.ServeMux) {
	for _, file := range []struct{ name, kind string }{
		{"console.css", "text/css; charset=utf-8"}, {"console.js", "text/javascript; charset=utf-8"},
	} {
		text, err := web.ReadFile("web/" + file.name)
		if err != nil {
			panic("console: " + err.Error())
		}
		mux.HandleFunc("GET /static/"+file.name, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", file.kind)
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
			http.ServeContent(w, r, file.name, time.Time{}, bytes.NewReader(text))
		})
	}
	mux.HandleFunc("GET /{$}", c.circuitsPage)
	mux.HandleFunc("GET /circuits/{name}", c.circuitPage)
	mux.HandleFunc("GET /processors", c.processorsPage)
	mux.HandleFunc("GET /policies", c.policiesPage)
	mux.HandleFunc("POST /override", c.overridePage)
}

// render answers with a page.
func (c *Console) render(w http.ResponseWriter, status int, name string, data any) {
	var page bytes.Buffer
	if err := templates.ExecuteTemplate(&page, name, data); err != nil {
		c.log.Error("a page of the console cannot be made", "page", name, "err", err)
		problem(w, http.StatusInternalServerError, "the page cannot be made; the log says why")
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes()) // The reader has gone where this fails.
}

// trouble is a page that says what is wrong.
type trouble struct {
	frame
	Heading, Words string
}

func (c *Console) trouble(w http.ResponseWriter, status int, heading, words string) {
	c.render(w, status, "problem", trouble{c.frame("", heading), heading, words})
}

// policiesView is the page of the policies.
type policiesView struct {
	frame
	PolicyVersion, By, Text, Empty string
	Since                          time.Time
	Refused                        *kafka.RefusedFile
}

func (c *Console) policiesPage(w http.ResponseWriter, _ *http.Request) {
	v := policiesView{
		frame: c.frame("policies", "Policies"), Empty: "No processor has published policies yet.",
		Refused: c.config.Loop.Ready().Refused,
	}
	if p := c.view.inForce(); p != nil {
		v.PolicyVersion, v.By, v.Since = p.Version, p.Instance, p.Since
		v.Text = cmp.Or(p.Text, "# no file: the built-in policy")
	}
	c.render(w, http.StatusOK, "policies", v)
}
