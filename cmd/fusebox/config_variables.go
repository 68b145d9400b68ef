package main

import (
	"fmt"
	"reflect"
	"strings"
)

// variable says what an environment variable is for and what it may be.
type variable struct {
	what string // For the help of `fusebox run`.
	want string // What a right value is, for faults.
}

var variables = map[string]variable{
	"FUSEBOX_BROKERS": {"Kafka brokers to begin with, separated by commas",
		"host:port, separated by commas, such as 127.0.0.1:9092 (where `fusebox dev` listens)"},
	"FUSEBOX_GROUP": {"consumer group, and prefix of the transactional ids", "a name without control characters"},

	"FUSEBOX_TOPIC_PREFIX":       {"prefix of all topics", topicWords},
	"FUSEBOX_TOPIC_OUTCOMES":     {"name of the outcomes topic", topicWords},
	"FUSEBOX_TOPIC_SIGNALS":      {"name of the signals topic", topicWords},
	"FUSEBOX_TOPIC_STATE":        {"name of the state topic", topicWords},
	"FUSEBOX_TOPIC_TRANSITIONS":  {"name of the transitions topic", topicWords},
	"FUSEBOX_TOPIC_CHANGELOG":    {"name of the changelog topic", topicWords},
	"FUSEBOX_TOPIC_DEAD_LETTERS": {"name of the topic for what cannot be read", topicWords},

	"FUSEBOX_DATA_DIR": {"directory of the store, a cache that may be deleted", "a directory"},
	"FUSEBOX_POLICY_FILE": {"policy file, read again when it changes; without one a built-in policy judges all",
		"a YAML file"},
	"FUSEBOX_INSTANCE_ID": {"name of this instance, stable over restarts (default: the host name)",
		"a name without control characters"},

	"FUSEBOX_COMMIT_INTERVAL": {"longest time between commits; a change of state commits at once",
		"a duration from 1ms to 1m, such as 200ms"},
	"FUSEBOX_COMPRESSION": {"compression of what the processor publishes: " + strings.Join(compressions, ", "),
		strings.Join(compressions, ", ")},
	"FUSEBOX_WORKERS":               {"workers (default: the number of cores)", "a number from 1 to 1024"},
	"FUSEBOX_MAX_RESIDENT_CIRCUITS": {"circuits kept in memory", positiveWords},
	"FUSEBOX_MAX_CIRCUITS":          {"circuits known; outcomes of further ones are not counted", positiveWords},
	"FUSEBOX_METRICS_MAX_CIRCUITS":  {"circuits with metrics of their own", "a number, 0 or more"},
	"FUSEBOX_DLQ_PAYLOAD":           {"put the payload into dead letters", boolWords},
	"FUSEBOX_SHUTDOWN_TIMEOUT":      {"time for a clean shutdown", "a duration, such as 30s"},

	"FUSEBOX_HTTP_ADDR":        {"address of console, API, /metrics, /readyz", "host:port or :port, such as :8080"},
	"FUSEBOX_ADMIN_TOKEN":      {"token for what operators do over HTTP, not served without", secretWords},
	"FUSEBOX_ADMIN_TOKEN_FILE": {"file with that token", fileWords},
	"FUSEBOX_API_TOKEN": {"token for outcomes and claims over HTTP; not served without, unless FUSEBOX_HTTP_ADDR is " +
		"a loopback address", secretWords},
	"FUSEBOX_API_TOKEN_FILE": {"file with that token", fileWords},

	"FUSEBOX_LOG_LEVEL":  {"least level of log lines: " + levelWords, levelWords},
	"FUSEBOX_LOG_FORMAT": {"form of log lines: text or json", "text or json"},

	"FUSEBOX_TLS_ENABLED":     {"use TLS; implied by any of the following", boolWords},
	"FUSEBOX_TLS_CA":          {"PEM file of authorities, in place of the system's", fileWords},
	"FUSEBOX_TLS_CERT":        {"PEM file of the client's certificate", fileWords},
	"FUSEBOX_TLS_KEY":         {"PEM file of the client's key", fileWords},
	"FUSEBOX_TLS_SERVER_NAME": {"name in the brokers' certificate, where it is not the host's", "a host name"},

	"FUSEBOX_SASL_MECHANISM": {"how to log in: " + strings.Join(mechanisms, ", "), strings.Join(mechanisms, ", ")},
	"FUSEBOX_SASL_USER": {"user; client id for OAUTHBEARER; access key id for AWS_MSK_IAM",
		"a user's name"},
	"FUSEBOX_SASL_PASSWORD":       {"password; client secret; secret access key", secretWords},
	"FUSEBOX_SASL_PASSWORD_FILE":  {"file with that password", fileWords},
	"FUSEBOX_SASL_TOKEN":          {"token for OAUTHBEARER; session token for AWS_MSK_IAM", secretWords},
	"FUSEBOX_SASL_TOKEN_FILE":     {"file with that token; for OAUTHBEARER read again at every login", fileWords},
	"FUSEBOX_SASL_TOKEN_ENDPOINT": {"where OAUTHBEARER gets tokens for user and password", "a URL, https://host/path"},
	"FUSEBOX_SASL_SCOPES":         {"scopes to ask that endpoint for", "words separated by commas"},
}

const (
	topicWords    = "letters, digits, dots, underscores and hyphens, at most 249"
	positiveWords = "a number, 1 or more"
	boolWords     = "true or false"
	levelWords    = "debug, info, warn or error"
	secretWords   = "a text in one line"
	fileWords     = "a file that can be read"
)

// environmentHelp lists the variables with their defaults, for people.
func environmentHelp() string {
	var text strings.Builder
	for _, field := range reflect.VisibleFields(reflect.TypeFor[config]()) {
		name := field.Tag.Get("env")
		if name == "" {
			continue
		}
		what := variables[name].what
		if fixed := field.Tag.Get("envDefault"); fixed != "" {
			what += " (default: " + fixed + ")"
		}
		fmt.Fprintf(&text, "  %-30s %s\n", name, what)
	}
	return text.String()
}
