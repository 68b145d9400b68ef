package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// fencedBlock is a block of code of a page: its language, and its text.
var fencedBlock = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// namedFile is the first line of a file that the page shows: its name. The whole file says where its schema is.
var namedFile = regexp.MustCompile(`^# (?:([a-z_]+\.(?:yaml|csv))|yaml-language-server: .*)\n`)

// pasted tells that commands need files alone, of which the page shows or makes each.
var pasted = regexp.MustCompile(`^(head|sed|fusebox policy|fusebox backtest) `)

// TestPolicyPage pastes the commands of docs/policies.md into a shell, in a folder with the sample and the files that
// the page shows under their names, and wants what the page shows below them. A line "…" is any lines.
func TestPolicyPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../docs/sample")); err != nil {
		t.Fatal(err)
	}
	blocks := fencedBlock.FindAllStringSubmatch(string(page), -1)
	for _, b := range blocks {
		if name := namedFile.FindStringSubmatch(b[2]); name != nil {
			file := filepath.Join(dir, cmp.Or(name[1], "policies.yaml"))
			if err := os.WriteFile(file, []byte(b[2]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	shown := 0
	for i, b := range blocks {
		if b[1] != "sh" || !pasted.MatchString(b[2]) || strings.Contains(b[2], "--from-topic") {
			continue
		}
		said := paste(t, dir, b[2])
		if i+1 == len(blocks) || blocks[i+1][1] != "" {
			continue
		}
		shown++
		if want := blocks[i+1][2]; !elided(want).MatchString(strings.TrimRight(said, "\n") + "\n") {
			t.Errorf("policies.md, after\n%sit shows\n%sand now they say\n%s", b[2], want, said)
		}
	}
	if shown < 8 {
		t.Errorf("policies.md shows what %d blocks of commands say, want 8 or more", shown)
	}
}

// shellWord is a word of a command line, in quotes or not.
var shellWord = regexp.MustCompile(`"[^"]*"|\S+`)

// TestRunbookCommands wants that commands of ours in docs/runbook.md exist, with these flags and as many arguments.
func TestRunbookCommands(t *testing.T) {
	page, err := os.ReadFile("../../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^(?:.*\| )?fusebox ([^#|\n]+)`).FindAllStringSubmatch(string(page), -1)
	if len(lines) < 24 {
		t.Errorf("runbook.md has %d commands, want one or more for each alert", len(lines))
	}
	for _, line := range lines {
		var words []string
		for _, word := range shellWord.FindAllString(line[1], -1) {
			words = append(words, strings.Trim(word, `"`))
		}
		cmd, args, err := newRoot().Find(words)
		if err == nil {
			err = cmd.ParseFlags(args)
		}
		if err == nil {
			err = cmd.ValidateArgs(cmd.Flags().Args())
		}
		if err != nil {
			t.Errorf("fusebox %s: %v", line[1], err)
		}
	}
}

// paste runs commands and returns what they print. That a check found something is a failure to the shell alone.
func paste(t *testing.T, dir, commands string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, "sh", "-c", commands)
	shell.Dir, shell.Env = dir, append(os.Environ(), "TZ=UTC")
	said, err := shell.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(said)
}

// elided returns what matches a text in which lines of "…" stand for any lines.
func elided(text string) *regexp.Regexp {
	parts := strings.Split(text, "…\n")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("(?s)^" + strings.Join(parts, "(?:.*\n)?") + "$")
}
