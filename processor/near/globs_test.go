package near_test

import (
	"slices"
	"testing"

	"github.com/fusebox-project/fusebox/processor/near"
)

func TestGlobs(t *testing.T) {
	patterns := []string{"submission-extraction:*", "chat:gpt-?:*", "*:tenant-9", "a:*", "*"}
	for _, tt := range []struct {
		name string
		want []string
	}{
		{"submision-extraction:gpt:v1", []string{"submission-extraction:*"}},
		{"submission-extracton", []string{"submission-extraction:*"}},
		{"Submission-extraction:gpt:v1:acme", []string{"submission-extraction:*"}},
		{"chat:gpt4:v1", []string{"chat:gpt-?:*"}},
		{"chat:gpt-44:v1", []string{"chat:gpt-?:*"}},
		{"a:b:c:tennant-9", []string{"*:tenant-9"}},
		{"chta:gpt-4:v1", []string{"chat:gpt-?:*"}},
		{"billing:gpt:v1", nil},
		{"b:gpt:v1", nil}, // Another short name is no misspelt one.
		{"c", nil},
	} {
		if got := near.Globs(tt.name, patterns); !slices.Equal(got, tt.want) {
			t.Errorf("Globs(%s) = %q, want %q", tt.name, got, tt.want)
		}
	}
}
