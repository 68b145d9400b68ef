package client

import (
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// State is what is known of a circuit now: the newest record with what time alone has changed since.
type State struct {
	schemas.State
	Known      bool          // False for a circuit that nobody has heard of: it is closed at epoch 0.
	RetryAfter time.Duration // When a call may be admitted again; 0 where one is now, or where nobody can say.
	Age        time.Duration // How long ago a processor was last heard of this circuit's partition; 0 in one process.
	Silent     bool          // That is longer ago than Config.SilenceAfter, and Config.OnSilence decides.
}
