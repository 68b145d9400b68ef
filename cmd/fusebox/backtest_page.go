package main

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The page holds all that it needs: what is drawn with, uPlot, stands in it with its licence.
//
//go:embed backtest_page
var pageFiles embed.FS

// page is the HTML page of a backtest, in a file that takes its name only when it is whole.
type page struct {
	name string
	file *os.File // nil where no page is wanted, or it has its name.
}

// createPage makes the file before the run, so that one that cannot be written is found at once, as is one that the run
// reads.
func createPage(name string, read []string) (*page, error) {
	if name == "" {
		return &page{}, nil
	}
	there, err := os.Stat(name)
	if err == nil && !there.Mode().IsRegular() {
		return nil, usageErrorf("--html %s: is there, and no file", name)
	}
	for _, input := range read {
		if info, err := os.Stat(input); err == nil && os.SameFile(there, info) {
			return nil, usageErrorf("--html %s: would write over %s, which is read", name, input)
		}
	}
	file, err := os.CreateTemp(filepath.Dir(name), ".fusebox-*.html")
	if err != nil {
		return nil, usageErrorf("--html %s cannot be written: %w", name, unnamed(err))
	}
	return &page{name, file}, nil
}

// discard removes what was not finished.
func (p *page) discard() {
	if p.file != nil {
		_ = p.file.Close() // It is of no use any more.
		_ = os.Remove(p.file.Name())
	}
}

// write writes the page and gives it its name.
func (p *page) write(b *backtester) error {
	if p.file == nil {
		return nil
	}
	w := bufio.NewWriter(p.file)
	err := writePage(w, newPageView(b))
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = p.file.Chmod(0o644)
	}
	if err == nil {
		err = p.file.Close()
	}
	if err == nil {
		err = os.Rename(p.file.Name(), p.name)
	}
	if err != nil {
		return fmt.Errorf("--html %s cannot be written: %w", p.name, unnamed(err))
	}
	p.file = nil
	return nil
}

// writePage fills the template. A policy in the page's head names the scripts and styles that are in it, by their
// hashes, and allows nothing else, no network either.
func writePage(w *bufio.Writer, view *pageView) error {
	page, err := template.New("page.html").Funcs(template.FuncMap{
		"count": count, "dollars": dollars, "heading": heading, "stamp": stamp,
	}).ParseFS(pageFiles, "backtest_page/page.html")
	if err != nil {
		return err
	}
	licence, err := pageFiles.ReadFile("backtest_page/uplot/LICENSE")
	if err != nil {
		return err
	}
	view.Licence = string(licence)
	var styles, scripts []string
	view.Styles, styles, err = elements("style", "uplot/uPlot.min.css", "page.css")
	if err != nil {
		return err
	}
	view.Scripts, scripts, err = elements("script", "uplot/uPlot.iife.min.js", "page.js", "page_chart.js")
	if err != nil {
		return err
	}
	view.Security = fmt.Sprintf("default-src 'none'; img-src data:; style-src %s; script-src %s; base-uri 'none'; "+
		"form-action 'none'", strings.Join(styles, " "), strings.Join(scripts, " "))
	return page.Execute(w, view)
}

// heading writes the name of a column as a page has it: small, save for the names of the two policies.
func heading(column string) string {
	words := strings.Fields(column)
	for i, word := range words {
		if !slices.Contains(sideNames[:], word) {
			words[i] = strings.ToLower(word)
		}
	}
	return strings.Join(words, " ")
}

// elements returns files of ours as elements of the page, and their hashes as a security policy has them.
func elements(name string, files ...string) (template.HTML, []string, error) {
	var all strings.Builder
	var hashes []string
	for _, file := range files {
		text, err := pageFiles.ReadFile("backtest_page/" + file)
		if err != nil {
			return "", nil, err
		}
		hash := sha256.Sum256(text)
		hashes = append(hashes, fmt.Sprintf("'sha256-%s'", base64.StdEncoding.EncodeToString(hash[:])))
		fmt.Fprintf(&all, "<%s>%s</%s>\n", name, text, name)
	}
	return template.HTML(all.String()), hashes, nil // Nothing in it is anybody's but ours.
}
