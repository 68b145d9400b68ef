package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestPacerKeepsAndShortensGaps(t *testing.T) {
	recorded := time.Date(2026, 9, 14, 12, 0, 0, 0, time.UTC)
	for _, speed := range []float64{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			p := pacer{speed: speed}
			for _, tt := range []struct{ recorded, at, sent time.Duration }{
				{0, 0, 0},
				{10 * time.Second, 10 * time.Second, 10 * time.Second},
				{4 * time.Second, 4 * time.Second, 10 * time.Second}, // Out of order: its time has come already.
				{30 * time.Second, 30 * time.Second, 30 * time.Second},
			} {
				at, err := p.wait(t.Context(), recorded.Add(tt.recorded))
				if err != nil {
					t.Fatal(err)
				}
				want, sent := time.Duration(float64(tt.at)/speed), time.Duration(float64(tt.sent)/speed)
				if got := at.Sub(began); got != want {
					t.Errorf("speed %v: what was recorded at %v is moved to %v, want %v", speed, tt.recorded, got, want)
				}
				if got := time.Since(began); got != sent {
					t.Errorf("speed %v: what was recorded at %v is sent at %v, want %v", speed, tt.recorded, got, sent)
				}
			}
			if at, err := p.wait(t.Context(), time.Time{}); err != nil || !at.Equal(time.Now()) {
				t.Errorf("a line without a time is moved to %v, %v, want now", at, err)
			}
		})
	}
}

func TestSetTimeKeepsOtherMembers(t *testing.T) {
	at := time.Date(2026, 11, 29, 20, 0, 0, 123_999_999, time.UTC)
	line := `{"kind":"accepted","time":"2026-09-14T12:00:00Z","cost_usd":0.010,"of_ours":{"x":[1]}}`
	got, err := setTime([]byte(line), at)
	want := `{"cost_usd":0.010,"kind":"accepted","of_ours":{"x":[1]},"time":"2026-11-29T20:00:00.123Z"}`
	if err != nil || string(got) != want {
		t.Errorf("setTime = %s, %v, want %s", got, err, want)
	}
}

func TestReadLine(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	text := "one\r\n\n  two \n" + long + "\n" + long + "y\n" + long + long + long + "\nlast"
	want := []string{"one", "", "two", long, "too long", "too long", "last"}
	reader := bufio.NewReaderSize(strings.NewReader(text), maxLine+2)
	var bytes int
	for i := 0; ; i++ {
		line, read, err := readLine(reader)
		bytes += read
		got := string(line)
		if errors.Is(err, errTooLong) {
			got = "too long"
		}
		if i >= len(want) || got != want[i] {
			t.Fatalf("line %d = %.20q, want %.20q", i+1, got, fmt.Sprint(want[min(i, len(want)-1)]))
		}
		if err == io.EOF {
			if i != len(want)-1 {
				t.Errorf("%d lines, want %d", i+1, len(want))
			}
			break
		}
	}
	if bytes != len(text) {
		t.Errorf("readLine took %d bytes in all, want %d", bytes, len(text))
	}
}
