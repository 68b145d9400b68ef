package client_test

import (
	"testing"

	"github.com/fusebox-project/fusebox/client"
)

// TestCloseOfNoGate: who defers Close before he looks at the error of Open is not punished for it.
func TestCloseOfNoGate(t *testing.T) {
	var gate *client.Gate
	if err := gate.Close(); err != nil {
		t.Errorf("Close of a nil gate = %v, want nil", err)
	}
}
