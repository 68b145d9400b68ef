package near_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fusebox-project/fusebox/processor/near"
	"github.com/fusebox-project/fusebox/schemas"
)

func TestWords(t *testing.T) {
	flags := []string{"json", "since", "match", "help", "yes"}
	tests := []struct {
		mistyped string
		words    []string
		want     string
	}{
		{"josn", flags, "json"}, {"macth", flags, "match"}, {"x", flags, ""}, {"verbose", flags, ""},
		{"acepted", schemas.Kinds, "accepted"}, {"policy_rejected", schemas.Kinds, "policy_rejection"},
		{"of_our_own", schemas.Kinds, ""},
	}
	for _, tt := range tests {
		if got := strings.Join(near.Words(tt.mistyped, tt.words), " "); got != tt.want {
			t.Errorf("Words(%q) = %q, want %q", tt.mistyped, got, tt.want)
		}
	}
}

func TestNames(t *testing.T) {
	circuits := []string{"extraction:gpt:v4", "extraction:gpt:v5", "chat:claude:v1", "extraction:gpt:v4:acme"}
	for _, tt := range []struct {
		mistyped string
		most     int
		want     string
	}{
		{"extractoin:gpt:v4", 1, "extraction:gpt:v4"}, {"claude", 3, "chat:claude:v1"}, {"billing", 3, ""},
		{"extraction:gpt:v4", 3, "extraction:gpt:v4 extraction:gpt:v5 extraction:gpt:v4:acme"},
	} {
		if got := strings.Join(near.Names(tt.mistyped, slices.Values(circuits), tt.most), " "); got != tt.want {
			t.Errorf("Names(%s) = %s, want %s", tt.mistyped, got, tt.want)
		}
	}
}

// TestNamesIsBounded: of very many long names it looks at some, and then answers.
func TestNamesIsBounded(t *testing.T) {
	mistyped := strings.Repeat("n", 200)
	last := mistyped[:199] + "m"
	for far, want := range map[int]string{10: last, 5000: ""} {
		names := slices.Values(append(slices.Repeat([]string{strings.Repeat("f", 200)}, far), last))
		if got := strings.Join(near.Names(mistyped, names, 3), " "); got != want {
			t.Errorf("Names behind %d others = %q, want %q", far, got, want)
		}
	}
}
