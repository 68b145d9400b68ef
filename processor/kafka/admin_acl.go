package kafka

// ACL is a right that a part of a system with Fusebox in it needs of the brokers.
type ACL struct {
	Part       string   `json:"part"`     // processor, producer, router, operator, repair or bench.
	Resource   string   `json:"resource"` // topic, group or transactional-id.
	Name       string   `json:"name"`
	Prefixed   bool     `json:"prefixed,omitempty"` // Name is a prefix.
	Operations []string `json:"operations"`
}

// BenchPrefix begins the names of the topics and the group that a bench makes for itself, where it is given no name.
const BenchPrefix = "fusebox-bench-"

// ACLs returns the rights that each part needs, for a consumer group. Write and Read on a topic or group, and Write on
// a transactional id, bring Describe with them.
func ACLs(topics Topics, group string) []ACL {
	topic := func(part, name string, operations ...string) ACL {
		return ACL{Part: part, Resource: "topic", Name: name, Operations: operations}
	}
	return []ACL{
		topic("processor", topics.Outcomes, "DescribeConfigs", "Read", "Write"),
		topic("processor", topics.Signals, "DescribeConfigs", "Read", "Write"),
		topic("processor", topics.State, "DescribeConfigs", "Read", "Write"),
		topic("processor", topics.Transitions, "DescribeConfigs", "Read", "Write"), // Its HTTP API reads them.
		topic("processor", topics.Changelog, "DescribeConfigs", "Read", "Write"),
		topic("processor", topics.DeadLetters, "DescribeConfigs", "Write"),
		{Part: "processor", Resource: "group", Name: group, Operations: []string{"Read"}},
		prefixed("processor", "transactional-id", group+"-", "Write"),

		topic("producer", topics.Outcomes, "Write"),

		topic("router", topics.State, "Read"),
		topic("router", topics.Signals, "Write"),
		topic("router", topics.Outcomes, "Write"),

		topic("operator", topics.Outcomes, "Create", "DescribeConfigs", "Read"),
		topic("operator", topics.Signals, "Create", "DescribeConfigs", "Read", "Write"),
		topic("operator", topics.State, "Create", "DescribeConfigs", "Read"),
		topic("operator", topics.Transitions, "Create", "DescribeConfigs", "Read"),
		topic("operator", topics.Changelog, "Create", "DescribeConfigs", "Read"),
		topic("operator", topics.DeadLetters, "Create", "DescribeConfigs", "Read"),
		{Part: "operator", Resource: "group", Name: group, Operations: []string{"Describe"}},

		topic("repair", topics.Outcomes, "Read"),
		topic("repair", topics.Signals, "Read"),
		topic("repair", topics.State, "Describe"),
		topic("repair", topics.Transitions, "Describe"),
		topic("repair", topics.Changelog, "Read", "Write"),
		topic("repair", topics.DeadLetters, "Describe"),
		{Part: "repair", Resource: "group", Name: group, Operations: []string{"Read"}},
		{Part: "repair", Resource: "transactional-id", Name: repairID(group), Operations: []string{"Write"}},

		prefixed("bench", "topic", BenchPrefix, "Create", "Delete", "DescribeConfigs", "Read", "Write"),
		prefixed("bench", "group", BenchPrefix, "Delete", "Read"),
		prefixed("bench", "transactional-id", BenchPrefix, "Write"),
	}
}

func prefixed(part, resource, name string, operations ...string) ACL {
	return ACL{Part: part, Resource: resource, Name: name, Prefixed: true, Operations: operations}
}
