package main

import "github.com/grafana/grafana-foundation-sdk/go/units"

// Which outcomes say something about a route, as in prometheus/recording.yaml: not the neutral kinds, and not what
// counts for nothing.
const (
	selected  = `job=~"$job", circuit=~"$circuit"`
	judged    = selected + `, result=~"counted|probe|while_open"`
	neutral   = `policy_rejection|evaluator_error|cancelled|unknown`
	allJudged = `sum(rate(fusebox_outcomes_total{` + judged + `, kind!~"` + neutral + `"}[$__rate_interval]))`

	acceptance = `(sum(rate(fusebox_outcomes_total{` + judged +
		`, kind="accepted"}[$__rate_interval])) or vector(0)) / ` + allJudged
	available = `(sum(rate(fusebox_outcomes_total{` + judged + `, kind!~"transport_failure|` + neutral +
		`"}[$__rate_interval])) or vector(0)) / ` + allJudged
	gap = `(sum(rate(fusebox_outcomes_total{` + judged + `, kind!~"accepted|transport_failure|` + neutral +
		`"}[$__rate_interval])) or vector(0)) / ` + allJudged

	refusing = `state=~"open|half_open|forced_open"`
	spent    = `sum(rate(fusebox_cost_usd_total{` + selected + `}[$__rate_interval]))`
)

// overview is where somebody looks first.
var overview = dashboard{
	uid: "fusebox-overview", title: "Fusebox: semantic reliability", circuits: manyCircuits,
	about: "Are answers usable, which routes have stopped giving usable ones, and what does it cost?",
	rows: []row{
		{"Now", overviewNow},
		{"Answers", overviewAnswers},
		{"Circuits", overviewCircuits},
		{"Money", overviewMoney},
		{"Probes", overviewProbes},
	},
}

var overviewNow = []panel{
	{
		title: "Circuits that refuse", width: 4, kind: number, unit: units.Short,
		about: "Open, half open or forced open now.",
		targets: one("refuse", `count(max by (circuit) (fusebox_circuit_state{`+selected+`, `+refusing+
			`}) == 1) or vector(0)`),
		steps:  []step{{0, "green"}, {1, "red"}},
		alerts: []string{"FuseboxCircuitOpenTooLong", "FuseboxManyCircuitsOpen"},
	},
	{
		title: "Degraded", width: 4, kind: number, unit: units.Short,
		about:   "Closed circuits for which a degrading rule holds.",
		targets: one("degraded", `sum(max by (circuit) (fusebox_circuit_degraded{`+selected+`}))`),
		steps:   []step{{0, "green"}, {1, "orange"}},
	},
	{
		title: "Acceptance", width: 4, kind: number, unit: units.PercentUnit,
		about:   "Share of the judged answers that were accepted.",
		targets: one("acceptance", acceptance),
		steps:   []step{{0, "red"}, {0.9, "orange"}, {0.95, "green"}},
		alerts:  []string{"FuseboxAcceptanceBurnFast", "FuseboxAcceptanceBurnSlow"},
	},
	{
		title: "Availability", width: 4, kind: number, unit: units.PercentUnit,
		about:   "Share of them that got through at all: what a status code sees.",
		targets: one("availability", available),
		steps:   []step{{0, "red"}, {0.99, "orange"}, {0.999, "green"}},
	},
	{
		title: "Gap", width: 4, kind: number, unit: units.PercentUnit,
		about:   "Share that got through and was of no use: what nothing else shows.",
		targets: one("gap", gap),
		steps:   []step{{0, "green"}, {0.05, "orange"}, {0.2, "red"}},
		alerts:  []string{"FuseboxAvailableButNotAccepted"},
	},
	{
		title: "Rejected answers, $ an hour", width: 4, kind: number, unit: units.Dollars,
		about: "Money spent on answers that were not accepted, an hour at this pace.",
		targets: one("rejected", `3600 * sum(rate(fusebox_cost_usd_total{`+selected+
			`, accepted="false"}[$__rate_interval]))`),
	},
	{
		title: "Which circuits refuse, since when", width: 24, kind: timeline, unit: units.Short, detail: true,
		about: "Those that were open, half open or forced open in this time. A click leads to the circuit.",
		targets: one("{{circuit}}",
			`max by (circuit) (fusebox_circuit_state{`+selected+`, `+refusing+`}) and on (circuit) `+
				`max by (circuit) (max_over_time(fusebox_circuit_state{`+selected+`, `+refusing+
				`}[$__range])) == 1`),
		words:  [2]words{{"admits", "green"}, {"refuses", "red"}},
		alerts: []string{"FuseboxCircuitOpenTooLong", "FuseboxCircuitFlapping"},
	},
}

var overviewAnswers = []panel{
	{
		title: "Acceptance beside availability", palette: ofShares, width: 12, unit: units.PercentUnit, bounds: true,
		about: "Where the two part, calls succeed and answers are of no use. The gap is their difference.",
		targets: []target{
			{expr: acceptance, legend: "acceptance"}, {expr: available, legend: "availability"},
			{expr: gap, legend: "gap"},
		},
		alerts: []string{"FuseboxAvailableButNotAccepted", "FuseboxAcceptanceBurnFast", "FuseboxAcceptanceBurnSlow"},
	},
	{
		title: "Outcomes by kind", palette: ofVerdicts, width: 12, kind: stacked, unit: units.CountsPerSecond,
		about:   "What applications say of their answers. Kinds that no policy declares are unknown.",
		targets: one("{{kind}}", `sum by (kind) (rate(fusebox_outcomes_total{`+selected+`}[$__rate_interval]))`),
		alerts:  []string{"FuseboxEvaluatorErrors", "FuseboxNoOutcomes", "FuseboxNotJudged"},
	},
	{
		title: "Acceptance by circuit", width: 12, unit: units.PercentUnit, bounds: true, detail: true,
		about:   "Over the longest window of the circuit's policy; the 20 lowest. Without outcomes there is none.",
		targets: one("{{circuit}}", `bottomk(20, max by (circuit) (fusebox_circuit_acceptance_ratio{`+selected+`}))`),
	},
	{
		title: "Outcomes by what became of them", width: 12, kind: stacked, unit: units.CountsPerSecond,
		about:   "counted and probe are judged; all others are told apart and change nothing.",
		targets: one("{{result}}", `sum by (result) (rate(fusebox_outcomes_total{`+selected+`}[$__rate_interval]))`),
	},
}

var overviewCircuits = []panel{
	{
		title: "Circuits by state", palette: ofStates, width: 8, kind: stacked, unit: units.Short,
		about:   "How many circuits are in which state.",
		targets: one("{{state}}", `sum by (state) (max by (circuit, state) (fusebox_circuit_state{`+selected+`}))`),
		alerts:  []string{"FuseboxManyCircuitsOpen", "FuseboxCircuitOpenTooLong"},
	},
	{
		title: "Trips by cause", width: 8, kind: stacked, unit: units.Short,
		about:   "Trips in each interval, by the rule that fired; probe_failed and probes_inconclusive are reopenings.",
		targets: one("{{rule}}", grown("rule", "fusebox_trips_total", "$__rate_interval")),
		alerts:  []string{"FuseboxCircuitFlapping"},
	},
	{
		title: "Time open", width: 8, unit: units.PercentUnit, bounds: true, detail: true,
		about: "Share of the time in which a circuit was open, half open or forced open; the 20 highest.",
		targets: one("{{circuit}}", `topk(20, sum by (circuit) (rate(fusebox_open_seconds_total{`+selected+
			`}[$__rate_interval])))`),
	},
	{
		title: "Time to detect", width: 24, unit: units.Seconds, detail: true,
		about: "From the first failure of the bad stretch to the trip, on average over the shown time, by circuit.",
		targets: one("{{circuit}}", grown("circuit", "fusebox_time_to_detect_seconds_sum", "$__range")+` / `+
			grown("circuit", "fusebox_time_to_detect_seconds_count", "$__range")),
	},
}

var overviewMoney = []panel{
	{
		title: "Spend, $ an hour", palette: ofVerdicts, width: 8, kind: stacked, unit: units.Dollars,
		about: "Money spent on calls, an hour at this pace, by whether the answer was accepted.",
		targets: []target{
			{expr: `3600 * sum(rate(fusebox_cost_usd_total{` + selected + `, accepted="true"}[$__rate_interval]))`,
				legend: "accepted"},
			{expr: `3600 * sum(rate(fusebox_cost_usd_total{` + selected + `, accepted="false"}[$__rate_interval]))`,
				legend: "rejected"},
		},
	},
	{
		title: "Fallback share", width: 8, unit: units.PercentUnit, bounds: true,
		about: "Share of the money that went to fallback routes.",
		targets: one("fallback",
			`sum(rate(fusebox_cost_usd_total{`+selected+`, fallback="true"}[$__rate_interval])) / `+spent),
		alerts: []string{"FuseboxFallbackSpend"},
	},
	{
		title: "Tokens", palette: ofVerdicts, width: 8, kind: stacked, unit: units.CountsPerSecond,
		about: "Tokens a second, in and out, by whether the answer was accepted.",
		targets: []target{
			{expr: `sum(rate(fusebox_tokens_total{` + selected + `, accepted="true"}[$__rate_interval]))`,
				legend: "accepted"},
			{expr: `sum(rate(fusebox_tokens_total{` + selected + `, accepted="false"}[$__rate_interval]))`,
				legend: "rejected"},
		},
	},
}

var overviewProbes = []panel{
	{
		title: "Probes", width: 12, kind: stacked, unit: units.Short,
		about: "Claims and leases in each interval, by what became of them. " +
			"expired, neutral and released end without a verdict.",
		targets: one("{{result}}", grown("result", "fusebox_leases_total", "$__rate_interval")),
		alerts:  []string{"FuseboxProbesInconclusive"},
	},
	{
		title: "Latency of calls", width: 12, unit: units.Seconds,
		about: "Mean latency of the calls themselves, by whether the answer was accepted.",
		targets: one("accepted: {{accepted}}", `sum by (accepted) (rate(fusebox_outcome_latency_seconds_sum{`+selected+
			`}[$__rate_interval])) / sum by (accepted) (rate(fusebox_outcome_latency_seconds_count{`+selected+
			`}[$__rate_interval]))`),
	},
}

// grown returns by how much a counter of circuits grew, by labels. Such a counter begins with the first event: where it
// is new within the time, that which increase does not see, its first value, is part of the growth.
func grown(by, counter, within string) string {
	name := counter + `{` + selected + `}`
	grew := `increase(` + name + `[` + within + `])`
	return `sum by (` + by + `) (` + grew + ` + (min_over_time(` + name + `[` + within + `]) unless ` + name +
		` offset ` + within + `) or ` + grew + `)`
}
