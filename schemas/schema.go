package schemas

import "embed"

//go:embed *.schema.json
var files embed.FS

// Names are the names that Schema knows. Callers must not change it.
var Names = []string{"outcome", "signal", "state", "heartbeat", "policies", "policy-switch", "handled",
	"dead-letter-headers"}

// PolicyFile is the name by which Schema knows the schema of policy files, which are no records.
const PolicyFile = "policy-file"

// Schema returns the JSON Schema (2020-12) of a record or of policy files, and nil for a name that is none of Names and
// not PolicyFile.
func Schema(name string) []byte {
	text, err := files.ReadFile(name + ".schema.json")
	if err != nil {
		return nil
	}
	return text
}
