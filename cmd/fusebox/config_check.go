package main

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)
	control   = regexp.MustCompile(`[\x00-\x1f\x7f]`)
)

// add adds a fault.
func (e *configError) add(fault string) { *e = append(*e, fault) }

// names tells whether a fault is about a variable already.
func (e configError) names(variable string) bool {
	return slices.ContainsFunc(e, func(fault string) bool {
		rest, found := strings.CutPrefix(fault, variable)
		return found && (rest == "" || strings.ContainsAny(rest[:1], "=: "))
	})
}

// err returns the faults as an error that ends in exit status 2, nil where there are none.
func (e configError) err() error {
	if len(e) == 0 {
		return nil
	}
	return &statusError{exitUsage, e}
}

// valueFault says of a variable that its value is wrong, and what would be right. It never shows a secret.
func valueFault(name string, environment map[string]string) string {
	if isSecret(name) {
		return fmt.Sprintf("%s: want %s", name, variables[name].want)
	}
	return fmt.Sprintf("%s=%q: want %s", name, environment[name], variables[name].want)
}

// isSecret tells whether a variable's value must not be shown.
func isSecret(name string) bool {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[config]()) {
		if field.Tag.Get("env") == name {
			return field.Type == reflect.TypeFor[secret]()
		}
	}
	return false
}

// check finds values that parse and cannot be right. It leaves alone the variables that known faults name.
func (c *config) check(environment map[string]string, known configError) configError {
	var faults configError
	want := func(right bool, name string) {
		if !right && !known.names(name) {
			faults.add(valueFault(name, environment))
		}
	}
	want(!slices.ContainsFunc(c.Brokers, notAddress), "FUSEBOX_BROKERS")
	want(!control.MatchString(c.Group), "FUSEBOX_GROUP")
	want(topicName.MatchString(c.TopicPrefix+"x"), "FUSEBOX_TOPIC_PREFIX")
	for name, value := range map[string]string{
		"FUSEBOX_TOPIC_OUTCOMES": c.TopicOutcomes, "FUSEBOX_TOPIC_SIGNALS": c.TopicSignals,
		"FUSEBOX_TOPIC_STATE": c.TopicState, "FUSEBOX_TOPIC_TRANSITIONS": c.TopicTransitions,
		"FUSEBOX_TOPIC_CHANGELOG": c.TopicChangelog, "FUSEBOX_TOPIC_DEAD_LETTERS": c.TopicDeadLetters,
	} {
		want(value == "" || topicName.MatchString(value), name)
	}
	want(c.InstanceID != "" && !control.MatchString(c.InstanceID), "FUSEBOX_INSTANCE_ID")
	want(c.CommitInterval >= time.Millisecond && c.CommitInterval <= time.Minute, "FUSEBOX_COMMIT_INTERVAL")
	want(slices.Contains(compressions, c.Compression), "FUSEBOX_COMPRESSION")
	want(c.Workers >= 1 && c.Workers <= 1024, "FUSEBOX_WORKERS")
	want(c.MaxResidentCircuits >= 1, "FUSEBOX_MAX_RESIDENT_CIRCUITS")
	want(c.MaxCircuits >= 1, "FUSEBOX_MAX_CIRCUITS")
	want(c.MetricsMaxCircuits >= 0, "FUSEBOX_METRICS_MAX_CIRCUITS")
	want(c.ShutdownTimeout > 0, "FUSEBOX_SHUTDOWN_TIMEOUT")
	want(!notListenAddress(c.HTTPAddr), "FUSEBOX_HTTP_ADDR")
	want(!control.MatchString(string(c.AdminToken)), "FUSEBOX_ADMIN_TOKEN")
	want(!control.MatchString(string(c.APIToken)), "FUSEBOX_API_TOKEN")
	want(c.LogFormat == "text" || c.LogFormat == "json", "FUSEBOX_LOG_FORMAT")
	want(c.SASLMechanism == "" || slices.Contains(mechanisms, c.SASLMechanism), "FUSEBOX_SASL_MECHANISM")
	endpoint, err := url.Parse(c.SASLTokenEndpoint)
	want(c.SASLTokenEndpoint == "" || err == nil && endpoint.Host != "", "FUSEBOX_SASL_TOKEN_ENDPOINT")
	faults = append(faults, c.sameTopics()...)
	slices.Sort(faults)
	return faults
}

// sameTopics finds two topics that have one name.
func (c *config) sameTopics() configError {
	topics := c.topics()
	seen := make(map[string]string)
	var faults configError
	for _, t := range []struct{ name, variable string }{
		{topics.Outcomes, "FUSEBOX_TOPIC_OUTCOMES"}, {topics.Signals, "FUSEBOX_TOPIC_SIGNALS"},
		{topics.State, "FUSEBOX_TOPIC_STATE"}, {topics.Transitions, "FUSEBOX_TOPIC_TRANSITIONS"},
		{topics.Changelog, "FUSEBOX_TOPIC_CHANGELOG"}, {topics.DeadLetters, "FUSEBOX_TOPIC_DEAD_LETTERS"},
	} {
		if other, taken := seen[t.name]; taken {
			faults.add(fmt.Sprintf("%s=%q: want a topic of its own; it is that of %s", t.variable, t.name, other))
		}
		seen[t.name] = t.variable
	}
	return faults
}

// readSecrets reads the secrets that a file holds.
func (c *config) readSecrets() configError {
	var faults configError
	for _, s := range []struct {
		name string
		file string
		to   *secret
	}{
		{"FUSEBOX_ADMIN_TOKEN", c.AdminTokenFile, &c.AdminToken},
		{"FUSEBOX_API_TOKEN", c.APITokenFile, &c.APIToken},
		{"FUSEBOX_SASL_PASSWORD", c.SASLPasswordFile, &c.SASLPassword},
		{"FUSEBOX_SASL_TOKEN", c.SASLTokenFile, &c.SASLToken},
	} {
		if s.file == "" {
			continue
		}
		if *s.to != "" {
			faults.add(fmt.Sprintf("%s_FILE=%q: want this or %s, not both", s.name, s.file, s.name))
			continue
		}
		text, err := readSecret(s.file)
		if err != nil {
			faults.add(fmt.Sprintf("%s_FILE=%q: want %s (%v)", s.name, s.file, fileWords, err))
		}
		*s.to = text
	}
	return faults
}

// readSecret reads a secret from a file, whose last line may end as lines do. An empty one is an error.
func readSecret(file string) (secret, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	trimmed := strings.TrimRight(string(text), "\r\n")
	if trimmed == "" {
		return "", fmt.Errorf("it is empty")
	}
	return secret(trimmed), nil
}

// notAddress tells whether an address is not host:port.
func notAddress(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	return err != nil || host == "" || notListenAddress(addr)
}

// notListenAddress tells whether an address is neither host:port nor :port.
func notListenAddress(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return true
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err != nil
}
