package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestEveryVariableHasWords(t *testing.T) {
	fields := reflect.VisibleFields(reflect.TypeFor[config]())
	named := 0
	for _, field := range fields {
		name := field.Tag.Get("env")
		if name == "" {
			continue
		}
		named++
		if v := variables[name]; v.what == "" || v.want == "" {
			t.Errorf("variables[%s] = %+v, want words of what it is for and what it may be", name, v)
		}
	}
	if named != len(variables) {
		t.Errorf("config has %d variables, the table of words has %d", named, len(variables))
	}
}

func TestDefaults(t *testing.T) {
	c, faults := readConfig(nil)
	if faults != nil {
		t.Fatalf("readConfig(nothing): %v", faults)
	}
	host, _ := os.Hostname()
	want := config{
		Group: "fusebox", TopicPrefix: "fusebox.", DataDir: "./data", InstanceID: host,
		CommitInterval: 200 * time.Millisecond, Compression: "none", Workers: runtime.GOMAXPROCS(0),
		MaxResidentCircuits: 100_000, MaxCircuits: 1_000_000, MetricsMaxCircuits: 1000,
		ShutdownTimeout: 30 * time.Second, HTTPAddr: ":8080", LogFormat: "text",
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("readConfig(nothing) = %+v, want %+v", c, want)
	}
	if got := c.topics().DeadLetters; got != "fusebox.outcomes-dlq.v1" {
		t.Errorf("topics().DeadLetters = %q, want fusebox.outcomes-dlq.v1", got)
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	_, faults := readConfig(map[string]string{
		"FUSEBOX_BROKERS":              "kafka:9092, kafka",
		"FUSEBOX_COMMIT_INTERVAL":      "200",
		"FUSEBOX_COMIT_INTERVAL":       "200ms",
		"FUSEBOX_NONSENSE":             "1",
		"FUSEBOX_WORKERS":              "0",
		"FUSEBOX_MAX_CIRCUITS":         "many",
		"FUSEBOX_DLQ_PAYLOAD":          "perhaps",
		"FUSEBOX_HTTP_ADDR":            "8080",
		"FUSEBOX_LOG_LEVEL":            "loud",
		"FUSEBOX_LOG_FORMAT":           "xml",
		"FUSEBOX_TOPIC_SIGNALS":        "fusebox.outcomes.v1",
		"FUSEBOX_TOPIC_PREFIX":         "fuse box.",
		"FUSEBOX_ADMIN_TOKEN":          "very\tsecret",
		"FUSEBOX_API_TOKEN_FILE":       "/nowhere/token",
		"FUSEBOX_SASL_MECHANISM":       "KERBEROS",
		"FUSEBOX_SASL_TOKEN_ENDPOINT":  "login",
		"FUSEBOX_TEST_REQUIRE":         "kafka",
		"FUSEBOX_SERVICE_HOST":         "10.0.0.1",
		"FUSEBOX_SERVICE_PORT_HTTP":    "8080",
		"FUSEBOX_PORT":                 "tcp://10.0.0.1:8080",
		"FUSEBOX_PORT_8080_TCP_PROTO":  "tcp",
		"FUSEBOX_CONSOLE_SERVICE_HOST": "10.0.0.2",
	})
	want := `FUSEBOX_COMIT_INTERVAL is no variable of Fusebox; did you mean FUSEBOX_COMMIT_INTERVAL?
FUSEBOX_NONSENSE is no variable of Fusebox
FUSEBOX_COMMIT_INTERVAL="200": want a duration from 1ms to 1m, such as 200ms
FUSEBOX_MAX_CIRCUITS="many": want a number, 1 or more
FUSEBOX_DLQ_PAYLOAD="perhaps": want true or false
FUSEBOX_LOG_LEVEL="loud": want debug, info, warn or error
FUSEBOX_API_TOKEN_FILE="/nowhere/token": want a file that can be read (open /nowhere/token: no such file or directory)
FUSEBOX_ADMIN_TOKEN: want a text in one line
FUSEBOX_BROKERS="kafka:9092, kafka": want host:port, separated by commas, such as 127.0.0.1:9092 (where ` +
		"`fusebox dev`" + ` listens)
FUSEBOX_HTTP_ADDR="8080": want host:port or :port, such as :8080
FUSEBOX_LOG_FORMAT="xml": want text or json
FUSEBOX_SASL_MECHANISM="KERBEROS": want PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, AWS_MSK_IAM
FUSEBOX_SASL_TOKEN_ENDPOINT="login": want a URL, https://host/path
FUSEBOX_TOPIC_PREFIX="fuse box.": want letters, digits, dots, underscores and hyphens, at most 249
FUSEBOX_WORKERS="0": want a number from 1 to 1024`
	if got := strings.Join(faults, "\n"); got != want {
		t.Errorf("readConfig faults:\n%s\nwant:\n%s", got, want)
	}
}

// TestOneShotToolsHideTheClientsLog, unless somebody looks for a fault in it.
func TestOneShotToolsHideTheClientsLog(t *testing.T) {
	tests := []struct {
		config config
		want   kgo.LogLevel
	}{
		{config{}, kgo.LogLevelWarn},
		{config{oneShot: true}, kgo.LogLevelNone},
		{config{oneShot: true, LogLevel: slog.LevelDebug}, kgo.LogLevelDebug},
	}
	for _, tt := range tests {
		if got := tt.config.kafkaLogger().Level(); got != tt.want {
			t.Errorf("the level of the client's log of %+v = %v, want %v", tt.config, got, tt.want)
		}
	}
}

func TestTwoTopicsOfOneName(t *testing.T) {
	_, faults := readConfig(map[string]string{"FUSEBOX_TOPIC_SIGNALS": "fusebox.outcomes.v1"})
	want := `FUSEBOX_TOPIC_SIGNALS="fusebox.outcomes.v1": want a topic of its own; it is that of FUSEBOX_TOPIC_OUTCOMES`
	if got := strings.Join(faults, "\n"); got != want {
		t.Errorf("readConfig faults = %q, want %q", got, want)
	}
}

func TestSecretsFromFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, faults := readConfig(map[string]string{"FUSEBOX_ADMIN_TOKEN_FILE": file})
	if c.AdminToken != "s3cret" || faults != nil {
		t.Errorf("AdminToken = %q, faults %v; want s3cret and none", string(c.AdminToken), faults)
	}
	_, faults = readConfig(map[string]string{"FUSEBOX_ADMIN_TOKEN": "other", "FUSEBOX_ADMIN_TOKEN_FILE": file})
	if len(faults) != 1 || !strings.HasSuffix(faults[0], "want this or FUSEBOX_ADMIN_TOKEN, not both") {
		t.Errorf("faults of a secret given twice = %v, want one that says so", faults)
	}
}
