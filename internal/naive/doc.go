// Package naive is a second reading of the specification, kept apart from the first so that the two can be compared.
//
// It holds the policy file as plain structs, a model of the circuits of one partition, a generator of random
// scenarios, and a printer that turns a scenario with what the model saw into a policy test. The model recomputes
// everything from lists of outcomes at every step. It is slow and plain on purpose: where it and the core differ,
// the specification decides which of them is wrong.
//
// It imports nothing of the project, knows of `shadows` only what a backtest does, no jitter other than 0, and keeps
// neither the ramp, the evidence nor the sequence of a circuit. Times and durations are milliseconds since the start
// of 1970, weights and factors are thousandths, thresholds and money are millionths.
package naive
