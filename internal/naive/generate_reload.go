package naive

import "slices"

// reloaded returns the policies with one thing changed in a policy, most often the first, or something else entirely.
func (d dice) reloaded(p Policies) Policies {
	p = p.clone()
	policy := &p.Policies[0]
	if d.chance(25) {
		policy = &p.Policies[d.IntN(len(p.Policies))]
	}
	switch {
	case !policy.live() && d.chance(60):
		policy.Enabled = nil
	case policy.Match[0] == gone(policy) && d.chance(60):
		policy.Match[0] = home[policy.Name]
	case d.chance(12):
		policy.Enabled = new(false)
	case d.chance(10):
		policy.Match[0] = gone(policy)
	case d.chance(10):
		policy.Enforce = new(!policy.enforced())
	case d.chance(10):
		return d.policies()
	case d.chance(15):
		p.Defaults = d.knobs(true)
	case d.chance(15):
		policy.Knobs = d.knobs(false)
	case d.chance(15):
		policy.Kinds = d.roles(p.Kinds)
	default:
		d.changeRules(policy, p.Kinds)
	}
	p.repair()
	return p
}

// home is where a policy has its circuits, by its name.
var home = map[string]string{"p1": "a:*", "p2": "b:*", "p3": "*"}

// gone is a glob that matches no circuit.
func gone(p *Policy) string { return "gone-" + p.Name + ":*" }

// changeRules changes one rule, or which rules there are.
func (d dice) changeRules(p *Policy, kinds []string) {
	i := d.IntN(len(p.Rules))
	r := &p.Rules[i]
	switch d.IntN(7) {
	case 0:
		*r = d.rule(r.Name, false, kinds)
	case 1:
		r.Name = map[bool]string{false: "renamed", true: "renamed-twice"}[p.has("renamed")]
	case 2:
		if r.Threshold > 1_000_000 && r.Type != Ratio {
			r.Threshold -= 1_000_000
		}
	case 3:
		r.Action = pick(d, "open", "degrade")
	case 4:
		d.extent(r)
	case 5:
		p.Rules[0], *r = *r, p.Rules[0]
	case 6:
		if len(p.Rules) > 1 {
			p.Rules = append(p.Rules[:i], p.Rules[i+1:]...)
		}
	}
}

func (p *Policy) has(rule string) bool {
	return slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.Name == rule })
}
