package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestSurvey counts lines, and the time of each file from its first outcome to its newest.
func TestSurvey(t *testing.T) {
	line := func(clock string) string {
		return `{"circuit":"c","kind":"accepted","time":"2026-09-14T` + clock + `Z"}` + "\n"
	}
	var files []string
	for name, text := range map[string]string{
		"one":   line("12:00:00") + "{\n" + line("12:10:00") + line("12:04:00"),
		"other": `{"circuit":"c","kind":"accepted"}` + "\n" + line("10:00:00") + line("10:05:00"),
	} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	lines, takes, err := survey(t.Context(), files, 5)
	if lines != 7 || takes != 3*time.Minute || err != nil {
		t.Errorf("survey = %d lines, %v, %v, want 7 in 3m", lines, takes, err)
	}
}

// TestRetimeBar shows how many lines are sent, and when the last one will be.
func TestRetimeBar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen bytes.Buffer
		const takes = 5 * time.Minute
		e := emitter{bar: newRetimeBar(&seen, 2139, takes), ends: time.Now().Add(takes)}
		for range 242 {
			time.Sleep(500 * time.Millisecond)
			e.passed(100)
		}
		if got := seen.String(); !strings.Contains(got, "emit ends in 3m") || !strings.Contains(got, "(240/2139)") {
			t.Errorf("after 242 of 2139 lines and 2 of 5 minutes it shows %q", got)
		}
	})
}
