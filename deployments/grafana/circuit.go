package main

import "github.com/grafana/grafana-foundation-sdk/go/units"

const circuitUID = "fusebox-circuit"

// circuit is all there is to see of one circuit.
var circuit = dashboard{
	uid: circuitUID, title: "Fusebox: one circuit", circuits: oneCircuit,
	about: "One route under one use case: its states, what is judged, why it tripped, how it recovers, what it costs.",
	rows: []row{
		{"State", circuitState},
		{"Answers", circuitAnswers},
		{"Trips and probes", circuitTrips},
		{"Calls", circuitCalls},
	},
}

var circuitState = []panel{
	{
		title: "State", width: 24, kind: timeline, unit: units.Short,
		about:   "The state that it is in. Why it is open, with evidence: fusebox status CIRCUIT, or the console.",
		targets: one("{{state}}", `max by (state) (fusebox_circuit_state{`+selected+`})`),
		words:   [2]words{{"", "transparent"}, {"is so", "blue"}},
		alerts:  []string{"FuseboxCircuitOpenTooLong", "FuseboxCircuitFlapping"},
	},
	{
		title: "Acceptance", width: 6, kind: number, unit: units.PercentUnit,
		about:   "Accepted share of the outcomes that are not neutral, over the longest window of its policy.",
		targets: one("acceptance", `max(fusebox_circuit_acceptance_ratio{`+selected+`})`),
		steps:   []step{{0, "red"}, {0.9, "orange"}, {0.95, "green"}},
		alerts:  []string{"FuseboxAcceptanceBurnFast", "FuseboxAcceptanceBurnSlow"},
	},
	{
		title: "Availability", width: 6, kind: number, unit: units.PercentUnit,
		about:   "Share of them that is no transport failure, over the same window.",
		targets: one("availability", `max(fusebox_circuit_availability_ratio{`+selected+`})`),
		steps:   []step{{0, "red"}, {0.99, "orange"}, {0.999, "green"}},
	},
	{
		title: "Time open", width: 6, kind: number, unit: units.DurationSeconds,
		about:   "How long it was open, half open or forced open in the shown time.",
		targets: one("open", grown("circuit", "fusebox_open_seconds_total", "$__range")),
	},
	{
		title: "Degraded", width: 6, kind: number, unit: units.Short,
		about:   "1 while a degrading rule holds.",
		targets: one("degraded", `max(fusebox_circuit_degraded{`+selected+`})`),
		steps:   []step{{0, "green"}, {1, "orange"}},
	},
}

var circuitAnswers = []panel{
	{
		title: "Acceptance beside availability", palette: ofShares, width: 12, unit: units.PercentUnit, bounds: true,
		about: "Of the judged outcomes in each interval. Where the two part, calls succeed and answers are of no use.",
		targets: []target{
			{expr: acceptance, legend: "acceptance"}, {expr: available, legend: "availability"},
			{expr: gap, legend: "gap"},
		},
		alerts: []string{"FuseboxAvailableButNotAccepted"},
	},
	{
		title: "Outcomes by kind", palette: ofVerdicts, width: 12, kind: stacked, unit: units.CountsPerSecond,
		about:   "What the application says of its answers.",
		targets: one("{{kind}}", `sum by (kind) (rate(fusebox_outcomes_total{`+selected+`}[$__rate_interval]))`),
		alerts:  []string{"FuseboxEvaluatorErrors"},
	},
	{
		title: "Outcomes by what became of them", width: 24, kind: stacked, unit: units.CountsPerSecond,
		about:   "counted and probe are judged; all others are told apart and change nothing.",
		targets: one("{{result}}", `sum by (result) (rate(fusebox_outcomes_total{`+selected+`}[$__rate_interval]))`),
	},
}

var circuitTrips = []panel{
	{
		title: "Trips by rule", width: 8, kind: stacked, unit: units.Short,
		about: "Trips in each interval. enforced: false is a policy on trial, which no router obeys.",
		targets: one("{{rule}}, enforced: {{enforced}}",
			grown("rule, enforced", "fusebox_trips_total", "$__rate_interval")),
		alerts: []string{"FuseboxCircuitFlapping"},
	},
	{
		title: "Changes of state", width: 8, kind: stacked, unit: units.Short,
		about:   "In each interval.",
		targets: one("{{from}} to {{to}}", grown("from, to", "fusebox_transitions_total", "$__rate_interval")),
	},
	{
		title: "Probes", width: 8, kind: stacked, unit: units.Short,
		about:   "Claims and leases in each interval, by what became of them.",
		targets: one("{{result}}", grown("result", "fusebox_leases_total", "$__rate_interval")),
		alerts:  []string{"FuseboxProbesInconclusive"},
	},
}

var circuitCalls = []panel{
	{
		title: "Latency", width: 8, unit: units.Seconds,
		about: "Mean latency of the calls, by whether the answer was accepted.",
		targets: one("accepted: {{accepted}}", `sum by (accepted) (rate(fusebox_outcome_latency_seconds_sum{`+selected+
			`}[$__rate_interval])) / sum by (accepted) (rate(fusebox_outcome_latency_seconds_count{`+selected+
			`}[$__rate_interval]))`),
	},
	{
		title: "Slow calls", width: 8, unit: units.PercentUnit, bounds: true,
		about: "Share of the calls that took longer than 1 s, and longer than 10 s.",
		targets: []target{
			{expr: slower("1"), legend: "over 1 s"}, {expr: slower("10"), legend: "over 10 s"},
		},
	},
	{
		title: "Spend, $ an hour", width: 8, kind: stacked, unit: units.Dollars,
		about: "An hour at this pace, by whether the answer was accepted and whether it came here as a fallback.",
		targets: one("accepted: {{accepted}}, fallback: {{fallback}}",
			`3600 * sum by (accepted, fallback) (rate(fusebox_cost_usd_total{`+selected+
				`}[$__rate_interval]))`),
		alerts: []string{"FuseboxFallbackSpend"},
	},
}

// slower returns the share of calls that took longer. Prometheus 3 writes the bound 1 as 1.0.
func slower(seconds string) string {
	return `1 - sum(rate(fusebox_outcome_latency_seconds_bucket{` + selected + `, le=~"` + seconds +
		`([.]0)?"}[$__rate_interval])) / sum(rate(fusebox_outcome_latency_seconds_count{` + selected +
		`}[$__rate_interval]))`
}
