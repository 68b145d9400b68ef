package main

import (
	"errors"
	"log/slog"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/processor/kafka"
	"github.com/fusebox-project/fusebox/processor/near"
)

// config is what the environment says. This file is the only one that reads it. What each variable means and what it
// may be stands in variables, see config_variables.go.
type config struct {
	Brokers []string `env:"FUSEBOX_BROKERS"`
	Group   string   `env:"FUSEBOX_GROUP" envDefault:"fusebox"`

	TopicPrefix      string `env:"FUSEBOX_TOPIC_PREFIX" envDefault:"fusebox."`
	TopicOutcomes    string `env:"FUSEBOX_TOPIC_OUTCOMES"`
	TopicSignals     string `env:"FUSEBOX_TOPIC_SIGNALS"`
	TopicState       string `env:"FUSEBOX_TOPIC_STATE"`
	TopicTransitions string `env:"FUSEBOX_TOPIC_TRANSITIONS"`
	TopicChangelog   string `env:"FUSEBOX_TOPIC_CHANGELOG"`
	TopicDeadLetters string `env:"FUSEBOX_TOPIC_DEAD_LETTERS"`

	DataDir    string `env:"FUSEBOX_DATA_DIR" envDefault:"./data"`
	PolicyFile string `env:"FUSEBOX_POLICY_FILE"`
	InstanceID string `env:"FUSEBOX_INSTANCE_ID"`

	CommitInterval      time.Duration `env:"FUSEBOX_COMMIT_INTERVAL" envDefault:"200ms"`
	Compression         string        `env:"FUSEBOX_COMPRESSION" envDefault:"none"`
	Workers             int           `env:"FUSEBOX_WORKERS"`
	MaxResidentCircuits int           `env:"FUSEBOX_MAX_RESIDENT_CIRCUITS" envDefault:"100000"`
	MaxCircuits         int           `env:"FUSEBOX_MAX_CIRCUITS" envDefault:"1000000"`
	MetricsMaxCircuits  int           `env:"FUSEBOX_METRICS_MAX_CIRCUITS" envDefault:"1000"`
	DLQPayload          bool          `env:"FUSEBOX_DLQ_PAYLOAD" envDefault:"false"`
	ShutdownTimeout     time.Duration `env:"FUSEBOX_SHUTDOWN_TIMEOUT" envDefault:"30s"`

	HTTPAddr       string `env:"FUSEBOX_HTTP_ADDR" envDefault:":8080"`
	AdminToken     secret `env:"FUSEBOX_ADMIN_TOKEN"`
	AdminTokenFile string `env:"FUSEBOX_ADMIN_TOKEN_FILE"`
	APIToken       secret `env:"FUSEBOX_API_TOKEN"`
	APITokenFile   string `env:"FUSEBOX_API_TOKEN_FILE"`

	LogLevel  slog.Level `env:"FUSEBOX_LOG_LEVEL" envDefault:"info"`
	LogFormat string     `env:"FUSEBOX_LOG_FORMAT" envDefault:"text"`

	TLSEnabled    *bool  `env:"FUSEBOX_TLS_ENABLED"`
	TLSCA         string `env:"FUSEBOX_TLS_CA"`
	TLSCert       string `env:"FUSEBOX_TLS_CERT"`
	TLSKey        string `env:"FUSEBOX_TLS_KEY"`
	TLSServerName string `env:"FUSEBOX_TLS_SERVER_NAME"`

	SASLMechanism     string   `env:"FUSEBOX_SASL_MECHANISM"`
	SASLUser          string   `env:"FUSEBOX_SASL_USER"`
	SASLPassword      secret   `env:"FUSEBOX_SASL_PASSWORD"`
	SASLPasswordFile  string   `env:"FUSEBOX_SASL_PASSWORD_FILE"`
	SASLToken         secret   `env:"FUSEBOX_SASL_TOKEN"`
	SASLTokenFile     string   `env:"FUSEBOX_SASL_TOKEN_FILE"`
	SASLTokenEndpoint string   `env:"FUSEBOX_SASL_TOKEN_ENDPOINT"`
	SASLScopes        []string `env:"FUSEBOX_SASL_SCOPES"`

	level      *slog.LevelVar // Of the log, where it can be changed; set by liveLogger.
	told       *alreadyTold   // By all logs of this process, where it is one that goes on; set by liveLogger.
	connection []kgo.Opt      // How to reach the brokers; set by loadClusterConfig.
	oneShot    bool           // The Kafka client's log is not shown: the command says itself what went wrong, and ends.
}

// secret is a value that is never printed.
type secret string

// String hides the value.
func (s secret) String() string { return "(secret)" }

// LogValue hides the value from logs.
func (s secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// configError is all that is wrong with the environment, a line each.
type configError []string

func (e configError) Error() string {
	return "the configuration is wrong:\n  " + strings.Join(e, "\n  ")
}

// loadConfig reads the environment, for a command that brings its own broker. Its error ends in exit status 2 and has
// every fault in it.
func loadConfig() (config, error) {
	c, faults := readConfig(environment())
	return c, faults.err()
}

// loadClusterConfig is loadConfig for a command that talks to a cluster: it wants brokers, and checks how to reach
// them.
func loadClusterConfig() (config, error) {
	c, faults := readConfig(environment())
	if len(c.Brokers) == 0 && !faults.names("FUSEBOX_BROKERS") {
		faults.add("FUSEBOX_BROKERS is not set; want " + variables["FUSEBOX_BROKERS"].want)
	}
	connection, wrong := c.connect()
	c.connection = connection
	faults = append(faults, wrong...)
	return c, faults.err()
}

// environment returns the environment of this process.
func environment() map[string]string { return env.ToMap(os.Environ()) }

// wantsNoColor tells whether the user asked for plain text.
func wantsNoColor() bool { return os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" }

// readConfig parses an environment and fills in what has no fixed default.
func readConfig(environment map[string]string) (config, configError) {
	faults := unknownNames(environment)
	var c config
	var parsed env.AggregateError
	if err := env.ParseWithOptions(&c, env.Options{Environment: environment}); errors.As(err, &parsed) {
		for _, err := range parsed.Errors {
			faults.add(parseFault(err, environment))
		}
	}
	faults = append(faults, c.readSecrets()...)
	c.fill(environment)
	return c, append(faults, c.check(environment, faults)...)
}

// fill sets the defaults that depend on the machine or on other variables.
func (c *config) fill(environment map[string]string) {
	if environment["FUSEBOX_WORKERS"] == "" {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.InstanceID == "" {
		c.InstanceID, _ = os.Hostname()
	}
	for i, b := range c.Brokers {
		c.Brokers[i] = strings.TrimSpace(b)
	}
	c.SASLMechanism = strings.ToUpper(c.SASLMechanism)
}

// topics returns the names of the topics: those under the prefix, save where a variable names one.
func (c config) topics() kafka.Topics {
	topics := kafka.TopicsWithPrefix(c.TopicPrefix)
	set := func(topic *string, name string) {
		if name != "" {
			*topic = name
		}
	}
	set(&topics.Outcomes, c.TopicOutcomes)
	set(&topics.Signals, c.TopicSignals)
	set(&topics.State, c.TopicState)
	set(&topics.Transitions, c.TopicTransitions)
	set(&topics.Changelog, c.TopicChangelog)
	set(&topics.DeadLetters, c.TopicDeadLetters)
	return topics
}

// parseFault says what is wrong with a value that is not of its variable's type.
func parseFault(err error, environment map[string]string) string {
	var parse env.ParseError
	if !errors.As(err, &parse) {
		return err.Error()
	}
	field, _ := reflect.TypeFor[config]().FieldByName(parse.Name)
	return valueFault(field.Tag.Get("env"), environment)
}

// unknownNames finds the FUSEBOX_ names that nobody reads, which are mistyped ones. Those of tests, and those that
// Kubernetes sets for a service named fusebox, pass.
func unknownNames(environment map[string]string) configError {
	var faults configError
	for name := range environment {
		rest, ours := strings.CutPrefix(name, "FUSEBOX_")
		if _, known := variables[name]; known || !ours || passes(rest) {
			continue
		}
		var meant []string
		for _, word := range near.Words(rest, variableWords()) {
			meant = append(meant, "FUSEBOX_"+word)
		}
		faults.add(name + " is no variable of Fusebox" + near.Question(meant[:min(1, len(meant))]))
	}
	slices.Sort(faults)
	return faults
}

// variableWords returns the names of the variables without what they all begin with.
func variableWords() []string {
	var words []string
	for name := range variables {
		words = append(words, strings.TrimPrefix(name, "FUSEBOX_"))
	}
	return words
}

func passes(rest string) bool {
	return strings.HasPrefix(rest, "TEST_") || strings.Contains("_"+rest, "_SERVICE_") ||
		strings.HasSuffix("_"+rest, "_PORT") || strings.Contains("_"+rest, "_PORT_")
}
