package breaker

import (
	"crypto/sha256"
	"encoding/hex"

	"go.yaml.in/yaml/v4"

	"github.com/fusebox-project/fusebox/schemas"
)

// What a policy file may hold at most.
const (
	mostBytes    = 1 << 20
	mostValues   = 300_000 // With every alias written out.
	mostKinds    = 200     // Declared ones.
	mostPolicies = 1000
	mostRules    = 64
	mostRoutes   = 1000
	mostEntries  = 256 // Of any other list.
	mostName     = schemas.MaxName
)

// minimal is what a file must say at least.
const minimal = `version: 1 and policies: [{name: all, match: ["*"], ` +
	`rules: [{name: failures, type: ratio, threshold: 0.5}]}]`

// builtin is the policy where there is no policy file.
const builtin = `version: 1
policies:
- name: default
  match: ["*"]
  rules:
  - {name: failure-ratio, type: ratio, threshold: 0.5}
`

// Builtin returns the policies that hold where there is no policy file: one for every circuit, which opens at a
// failure ratio of a half.
func Builtin() *Policies {
	p, err := Read("built-in", []byte(builtin))
	if err != nil {
		panic(err)
	}
	return p
}

// Read reads the text of a policy file. An error is Faults: all that is wrong with the text, by position. The file's
// name is for the faults alone.
func Read(file string, text []byte) (*Policies, error) {
	r := &parser{file: file, kinds: newKindTable()}
	root := r.parse(text)
	if root == nil {
		return nil, r.faults.sorted()
	}
	p := r.policies(root)
	if r.faulty > 0 {
		return nil, r.faults.sorted()
	}
	sum := sha256.Sum256(text)
	p.Version, p.Text = hex.EncodeToString(sum[:])[:16], string(text)
	return p, nil
}

// parser reads one file and gathers what is wrong with it.
type parser struct {
	file   string
	faults Faults
	faulty int // Faults found, those beyond mostFaults too.
	kinds  kindTable
}

var fileKeys = []string{"version", "kinds", "defaults", "policies", "routes"}

// policies reads the document.
func (r *parser) policies(root *yaml.Node) *Policies {
	t := r.table(root, "the file", fileKeys)
	if root.Kind != yaml.MappingNode {
		return nil
	}
	r.version(t)
	r.declarations(t.get("kinds"))
	base := r.settings(r.table(t.get("defaults"), "defaults", settingKeys), builtinSettings())
	p := &Policies{policies: r.policyList(t, base)}
	p.Routes = r.routes(t.get("routes"))
	p.kinds = r.kinds
	p.none = base.policy()
	r.weigh(p.none, table{})
	if r.faulty == 0 {
		for _, policy := range append(p.policies, p.none) {
			compile(policy, &r.kinds)
		}
	}
	return p
}

// version checks that the file is of the only version there is.
func (r *parser) version(t table) {
	n := t.get("version")
	switch {
	case n == nil:
		r.fault(t.at, "version is missing; write version: 1")
	case n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Value != "1":
		r.fault(n, "version is %s; write version: 1, the only one that this Fusebox reads", describe(n))
	}
}
