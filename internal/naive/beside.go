package naive

// Beside returns three policy files: one that rules all circuits with the first policy as its shadow, the same without
// the shadow, and the first policy alone for all circuits.
func (p Policies) Beside() (beside, ruling, alone Policies) {
	first := p.Policies[0]
	first.Enabled, first.Enforce = nil, nil
	rule := Policy{Name: "ruling", Match: []string{"*"}, Rules: []Rule{
		{Name: "watch", Type: Count, Threshold: 2_000_000, Window: 10_000, Action: "degrade"},
		{Name: "half", Type: Ratio, Threshold: 500_000, MinimumThroughput: 4, Window: 20_000},
		{Name: "row", Type: Consecutive, Threshold: 3_000_000},
	}}
	beside, ruling, alone = p, p, p
	ruling.Policies = []Policy{rule}
	first.Match, first.Shadows = nil, rule.Name
	beside.Policies = []Policy{rule, first}
	first.Match, first.Shadows = []string{"*"}, ""
	alone.Policies = []Policy{first}
	return beside, ruling, alone
}
