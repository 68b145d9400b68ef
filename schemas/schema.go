package schemas

import "embed"

//go:embed *.schema.json
var files embed.FS

// Names are the names that Schema knows. Callers must not change it.
var Names = []string{"outcome", "signal", "state", "heartbeat", "policies", "policy-switch", "dead-letter-headers"}

// Schema returns the JSON Schema (2020-12) of a record, and nil for a name that is none of Names.
func Schema(name string) []byte {
	text, err := files.ReadFile(name + ".schema.json")
	if err != nil {
		return nil
	}
	return text
}
