package main

import "github.com/grafana/grafana-foundation-sdk/go/units"

const ofJob = `job=~"$job"`

// processor is for those who run Fusebox.
var processor = dashboard{
	uid: "fusebox-processor", title: "Fusebox: processor internals",
	about: "Is every partition worked on, in time, and published; and how are store, policies and process?",
	rows: []row{
		{"Now", processorNow},
		{"Partitions", processorPartitions},
		{"Records and transactions", processorRecords},
		{"Store, policies, process", processorRest},
	},
}

var processorNow = []panel{
	{
		title: "Instances", width: 4, kind: number, unit: units.Short,
		about:   "Instances that Prometheus sees.",
		targets: one("instances", `count(fusebox_build_info{`+ofJob+`})`),
		steps:   []step{{0, "red"}, {1, "green"}}, alerts: []string{"FuseboxGone"},
	},
	{
		title: "Partitions without an owner", width: 4, kind: number, unit: units.Short,
		about: "Partitions that no instance has.",
		targets: one("without an owner", `sum(max by (job) (fusebox_partitions{`+ofJob+`})) - `+
			`(count(group by (job, partition) (fusebox_partition_phase{`+ofJob+`} == 1)) or vector(0))`),
		steps: []step{{0, "green"}, {1, "red"}}, alerts: []string{"FuseboxPartitionsWithoutOwner"},
	},
	{
		title: "Lag", width: 4, kind: number, unit: units.Seconds,
		about:   "The most that a partition is behind.",
		targets: one("lag", `max(fusebox_partition_lag_seconds{`+ofJob+`})`),
		steps:   []step{{0, "green"}, {5, "orange"}, {60, "red"}}, alerts: []string{"FuseboxLagSeconds"},
	},
	{
		title: "Dead letters", width: 4, kind: number, unit: units.Short,
		about: "Records that could not be read or were too large, in the shown time.",
		targets: one("dead letters", `sum(increase(fusebox_records_total{`+ofJob+
			`, result=~"unreadable|too_large"}[$__range]))`),
		steps: []step{{0, "green"}, {1, "orange"}}, alerts: []string{"FuseboxDeadLetters"},
	},
	{
		title: "Policy versions", width: 4, kind: number, unit: units.Short,
		about:   "Versions of the policies in force; more than one while a change is rolled out.",
		targets: one("versions", `count(group by (version) (fusebox_policy_info{`+ofJob+`} == 1))`),
		steps:   []step{{0, "green"}, {2, "orange"}}, alerts: []string{"FuseboxPolicyVersionsDiffer"},
	},
	{
		title: "Last reload", width: 4, kind: number, unit: units.Short,
		about:   "0 where an instance has read a policy file that cannot be used.",
		targets: one("good", `min(fusebox_policy_last_reload_successful{`+ofJob+`})`),
		steps:   []step{{0, "red"}, {1, "green"}}, alerts: []string{"FuseboxPolicyReloadFailed"},
	},
}

var processorPartitions = []panel{
	{
		title: "Partitions by phase", palette: ofPhases, width: 8, kind: stacked, unit: units.Short,
		about: "restoring reads its memory, catching_up works on what had piled up, refused does not start: " +
			"its log says why.",
		targets: one("{{phase}}", `sum by (phase) (fusebox_partition_phase{`+ofJob+`})`),
		alerts:  []string{"FuseboxPartitionRefused", "FuseboxRestoreStuck"},
	},
	{
		title: "Partitions by instance", width: 8, kind: stacked, unit: units.Short,
		about:   "Who has how many.",
		targets: one("{{instance}}", `sum by (instance) (fusebox_partition_phase{`+ofJob+`})`),
		alerts:  []string{"FuseboxPartitionsWithoutOwner"},
	},
	{
		title: "Restore, records left", width: 8, kind: stacked, unit: units.Short,
		about:   "Records of the changelog that are left to read.",
		targets: one("{{instance}}", `sum by (instance) (fusebox_partition_restore_remaining_records{`+ofJob+`})`),
		alerts:  []string{"FuseboxRestoreStuck"},
	},
	{
		title: "Lag in seconds", width: 8, unit: units.Seconds,
		about: "Age of the newest outcome handled, while others wait; the ten highest.",
		targets: one("partition {{partition}}",
			`topk(10, max by (partition) (fusebox_partition_lag_seconds{`+ofJob+`}))`),
		alerts: []string{"FuseboxLagSeconds"},
	},
	{
		title: "Lag in outcomes", width: 8, unit: units.Short,
		about: "Outcomes that wait; the ten highest.",
		targets: one("partition {{partition}}",
			`topk(10, max by (partition) (fusebox_partition_lag_records{`+ofJob+`}))`),
		alerts: []string{"FuseboxLagGrowing"},
	},
	{
		title: "Held up by transactions", width: 8, unit: units.Seconds,
		about: "For how long an open transaction of a producer has kept outcomes from being read; the ten longest.",
		targets: one("partition {{partition}}",
			`topk(10, max by (partition) (fusebox_partition_unstable_seconds{`+ofJob+`}))`),
		alerts: []string{"FuseboxHungTransaction"},
	},
}

var processorRecords = []panel{
	{
		title: "Input records", width: 8, kind: stacked, unit: units.RecordsPerSecond,
		about:   "By what became of them. misrouted were forwarded, repeated are forwards that came twice.",
		targets: one("{{result}}", `sum by (result) (rate(fusebox_records_total{`+ofJob+`}[$__rate_interval]))`),
		alerts:  []string{"FuseboxDeadLetters", "FuseboxMisroutedKeys"},
	},
	{
		title: "Transactions", palette: ofEndings, width: 8, kind: stacked, unit: units.OpsPerSecond,
		about:   "By how they ended. A rebalance may abort one; unknown is looked up afterwards.",
		targets: one("{{result}}", `sum by (result) (rate(fusebox_transactions_total{`+ofJob+`}[$__rate_interval]))`),
		alerts:  []string{"FuseboxPublishingFails"},
	},
	{
		title: "Time of a transaction", width: 8, unit: units.Seconds,
		about:   "From begin to end.",
		targets: quantiles("fusebox_commit_seconds"),
	},
	{
		title: "End to end", width: 8, unit: units.Seconds,
		about:   "From an outcome's append to the publication of the state that it caused.",
		targets: quantiles("fusebox_end_to_end_seconds"),
		alerts:  []string{"FuseboxLagSeconds"},
	},
	{
		title: "Times from the future", width: 8, unit: units.CountsPerSecond,
		about:   "Times of outcomes and records that were clamped to now: a producer's clock is wrong.",
		targets: one("clamped", `sum(rate(fusebox_clamped_total{`+ofJob+`}[$__rate_interval]))`),
	},
	{
		title: "Lost and found", width: 8, unit: units.Short,
		about: "Records deleted before they were handled, and partitions that went on from their own record as the " +
			"group's offsets had expired. Both are found out at a start.",
		targets: []target{
			{expr: `sum(fusebox_input_records_lost_total{` + ofJob + `})`, legend: "records lost"},
			{expr: `sum(fusebox_offsets_expired_total{` + ofJob + `})`, legend: "offsets expired"},
		},
	},
}

var processorRest = []panel{
	{
		title: "Store", width: 8, unit: units.BytesIEC,
		about:   "Bytes that each instance's store takes on disk.",
		targets: one("{{instance}}", `max by (instance) (fusebox_store_bytes{`+ofJob+`})`),
		alerts:  []string{"FuseboxStoreGrowing"},
	},
	{
		title: "Store errors, and what it has not written", width: 8, unit: units.Short,
		about: "Reads and writes that failed in each interval; changelog records in memory and not on disk yet.",
		targets: []target{
			{expr: `sum(increase(fusebox_store_errors_total{` + ofJob + `}[$__rate_interval]))`, legend: "errors"},
			{expr: `sum(fusebox_store_position_lag_records{` + ofJob + `})`, legend: "not written yet"},
		},
		alerts: []string{"FuseboxStoreFailing"},
	},
	{
		title: "Circuits", width: 8, kind: stacked, unit: units.Short,
		about:   "Circuits that are known, in memory or not.",
		targets: one("in memory: {{resident}}", `sum by (resident) (fusebox_circuits{`+ofJob+`})`),
	},
	{
		title: "CPU", width: 6, unit: units.Short,
		about: "Cores that each instance uses.",
		targets: one("{{instance}}",
			`sum by (instance) (rate(process_cpu_seconds_total{`+ofJob+`}[$__rate_interval]))`),
		alerts: []string{"FuseboxLagGrowing"},
	},
	{
		title: "Memory", width: 6, unit: units.BytesIEC,
		about:   "Resident memory of each instance.",
		targets: one("{{instance}}", `max by (instance) (process_resident_memory_bytes{`+ofJob+`})`),
	},
	{
		title: "Kafka, bytes", width: 6, unit: units.BytesPerSecondIEC,
		about: "What the clients read from brokers and write to them.",
		targets: []target{
			{expr: `sum(rate(fusebox_kafka_read_bytes_total{` + ofJob + `}[$__rate_interval]))`, legend: "read"},
			{expr: `sum(rate(fusebox_kafka_write_bytes_total{` + ofJob + `}[$__rate_interval]))`, legend: "written"},
		},
	},
	{
		title: "Policies in force", width: 6, unit: units.Short,
		about:   "Instances that judge by each version.",
		targets: one("{{version}}", `count by (version) (fusebox_policy_info{`+ofJob+`} == 1)`),
		alerts:  []string{"FuseboxPolicyVersionsDiffer"},
	},
}

// quantiles are the median and the slowest of a hundred, by the classic buckets.
func quantiles(name string) (both []target) {
	for _, q := range []struct{ share, name string }{{"0.5", "p50"}, {"0.99", "p99"}} {
		both = append(both, target{
			expr: `histogram_quantile(` + q.share + `, sum by (le) (rate(` + name + `_bucket{` + ofJob +
				`}[$__rate_interval])))`,
			legend: q.name,
		})
	}
	return both
}
