package client

import (
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// reach notes whether brokers answer. A gate that follows the states asks one twice a second.
type reach struct {
	began  time.Time
	heard  atomic.Int64          // When one answered last: a time.Duration since it began.
	failed atomic.Pointer[error] // The newest dial that failed.
}

var (
	_ kgo.HookBrokerConnect = (*reach)(nil)
	_ kgo.HookBrokerRead    = (*reach)(nil)
)

// OnBrokerConnect is called by the Kafka client.
func (r *reach) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err != nil {
		r.failed.Store(&err)
	}
}

// OnBrokerRead is called by the Kafka client.
func (r *reach) OnBrokerRead(_ kgo.BrokerMetadata, _ int16, _ int, _, _ time.Duration, err error) {
	if err == nil {
		r.heard.Store(int64(time.Since(r.began)))
		r.failed.Store(nil)
	}
}

// trouble says that no broker has answered for a while, and why not, as far as that is known.
func (r *reach) trouble() *error {
	since := time.Since(r.began) - time.Duration(r.heard.Load())
	if since <= calm {
		return nil
	}
	err := fmt.Errorf("no broker has answered for %v", since.Round(time.Second))
	if why := r.failed.Load(); why != nil {
		err = fmt.Errorf("%w: %w", err, *why)
	}
	return &err
}
