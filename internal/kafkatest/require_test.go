package kafkatest_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

// verdict is a test that records how it was ended instead of ending.
type verdict struct {
	testing.TB
	word, text string
}

func (v *verdict) Skipf(format string, args ...any) { v.end("skip", fmt.Sprintf(format, args...)) }

func (v *verdict) Fatalf(format string, args ...any) { v.end("fail", fmt.Sprintf(format, args...)) }

func (v *verdict) Fatal(args ...any) { v.end("fail", fmt.Sprint(args...)) }

func (v *verdict) end(word, text string) {
	v.word, v.text = word, text
	runtime.Goexit()
}

func TestRequire(t *testing.T) {
	empty := t.TempDir()
	for _, tt := range []struct {
		meaning, path, require, need string
		word, text                   string
	}{
		{"what is missing skips and says so", empty, "", "kcat", "skip", `needs kcat: exec: "kcat"`},
		{"what is missing and required fails", empty, "kafka, kcat", "kcat", "fail", "FUSEBOX_TEST_REQUIRE names kcat"},
		{"requiring something else skips", empty, "shared", "kcat", "skip", "needs kcat"},
		{"an unknown need fails", empty, "", "kcta", "fail", `the need "kcta"`},
		{"an unknown requirement fails", empty, "kcta", "kcat", "fail", `the need "kcta"`},
	} {
		t.Run(tt.meaning, func(t *testing.T) {
			t.Setenv("PATH", tt.path)
			t.Setenv("FUSEBOX_TEST_REQUIRE", tt.require)
			got := &verdict{TB: t}
			done := make(chan struct{})
			go func() {
				defer close(done)
				kafkatest.Require(got, tt.need)
			}()
			<-done
			if got.word != tt.word || !strings.Contains(got.text, tt.text) {
				t.Errorf("Require(%s) = %s %q, want %s %q", tt.need, got.word, got.text, tt.word, tt.text)
			}
			if strings.Contains(got.text, "\n") {
				t.Errorf("Require(%s) says more than a line: %q", tt.need, got.text)
			}
		})
	}
}

func TestImage(t *testing.T) {
	t.Setenv("FUSEBOX_TEST_KAFKA_IMAGE", "")
	if got := kafkatest.Image(); got != "apache/kafka:4.3.1" {
		t.Errorf("Image() = %s, want apache/kafka:4.3.1", got)
	}
	t.Setenv("FUSEBOX_TEST_KAFKA_IMAGE", "other:1")
	if got := kafkatest.Image(); got != "other:1" {
		t.Errorf("Image() = %s, want other:1", got)
	}
}

func TestShared(t *testing.T) {
	path := kafkatest.Shared(t, "scenarios")
	if found, err := filepath.Glob(filepath.Join(path, "*.yaml")); len(found) == 0 || err != nil {
		t.Errorf("%s holds %v, %v, want scenarios", path, found, err)
	}
}
