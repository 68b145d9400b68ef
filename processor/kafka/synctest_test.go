//go:build synctests

package kafka

import (
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

// inWorld runs a test in virtual time.
func inWorld(t *testing.T, partitions int32, test func(t *testing.T, w *world), opts ...kfake.Opt) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fake := kafkatest.New(t, opts...)
		w := newWorld(t, fake.Endpoint, partitions)
		w.fake = fake
		fake.AppendTime(topics.Outcomes, topics.Signals)
		test(t, w)
	})
}
