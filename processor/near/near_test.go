package near_test

import (
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
