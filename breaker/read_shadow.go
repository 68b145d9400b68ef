package breaker

import (
	"fmt"

	"go.yaml.in/yaml/v4"
)

// shadow reads beside which policy another one judges. It has no circuits of its own, and nobody obeys it.
func (r *parser) shadow(p *Policy, t table) {
	n := t.get("shadows")
	if isNull(n) {
		r.fault(t.keys["shadows"], "shadows is empty; write the name of the policy beside which this one judges")
	} else {
		p.Shadows, _ = r.text(n, "shadows", mostName)
	}
	if n := t.keys["match"]; n != nil {
		r.fault(n, "a policy with shadows judges the circuits of the policy that it names; leave out match, or shadows")
	}
	if t.get("enforce") != nil && p.Enforce {
		r.fault(t.get("enforce"), "nobody obeys a policy with shadows; leave out enforce")
	}
	p.Match, p.Enforce = nil, false
}

// bindShadows hands each policy the one that judges beside it. Nodes are where they say so.
func (r *parser) bindShadows(policies []*Policy, nodes []*yaml.Node) {
	byName := map[string]*Policy{}
	for _, p := range policies {
		byName[p.Name] = p
	}
	first := map[string]*Policy{}
	for i, p := range policies {
		if p.Shadows == "" {
			continue
		}
		of := byName[p.Shadows]
		switch {
		case of == nil:
			advised := "write the name of a policy with match"
			if best := Nearest(p.Shadows, names(policies)); best != "" {
				advised = fmt.Sprintf("did you mean %q?", best)
			}
			r.fault(nodes[i], "no policy is named %q; %s", shorten(p.Shadows), advised)
		case of.Shadows != "":
			r.fault(nodes[i], "policy %q in line %d shadows another one itself; write the name of a policy with match",
				of.Name, of.Line)
		case first[p.Shadows] != nil:
			r.fault(nodes[i], "policy %q has a shadow already, %q in line %d; leave one of them",
				of.Name, first[p.Shadows].Name, first[p.Shadows].Line)
		default:
			first[p.Shadows] = p
			if p.Enabled {
				of.Shadow = p
			}
		}
	}
}

// names returns the names of the policies that can have a shadow.
func names(policies []*Policy) []string {
	var names []string
	for _, p := range policies {
		if p.Shadows == "" {
			names = append(names, p.Name)
		}
	}
	return names
}
