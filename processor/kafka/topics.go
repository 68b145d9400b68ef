package kafka

// Topics are the names of the topics that Fusebox reads and writes.
type Topics struct {
	Outcomes, Signals, State, Transitions, Changelog, DeadLetters string
}

// TopicsWithPrefix returns the names under a prefix, which ends in a dot by convention.
func TopicsWithPrefix(prefix string) Topics {
	return Topics{
		Outcomes:    prefix + "outcomes.v1",
		Signals:     prefix + "signals.v1",
		State:       prefix + "circuit-state.v1",
		Transitions: prefix + "circuit-transitions.v1",
		Changelog:   prefix + "changelog.v1",
		DeadLetters: prefix + "outcomes-dlq.v1",
	}
}
