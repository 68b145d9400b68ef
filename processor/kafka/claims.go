package kafka

import (
	"context"
	"sync"
)

// claims see to it that one worker of the process alone uses a partition's part of the store. When a partition moves
// from one worker to another, the old one may still be busy with it for a moment.
type claims struct {
	mu     sync.Mutex
	holder map[int32]*pair
	freed  chan struct{} // Closed, and made anew, when one is given back.
}

func newClaims() *claims { return &claims{holder: map[int32]*pair{}, freed: make(chan struct{})} }

// acquire waits until nobody else uses the partition.
func (c *claims) acquire(ctx context.Context, p *pair) error {
	for {
		c.mu.Lock()
		if c.holder[p.id] == nil {
			c.holder[p.id] = p
			c.mu.Unlock()
			return nil
		}
		freed := c.freed
		c.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-freed:
		}
	}
}

// release gives a partition back. It does nothing where the pair does not hold it.
func (c *claims) release(p *pair) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holder[p.id] != p {
		return
	}
	delete(c.holder, p.id)
	close(c.freed)
	c.freed = make(chan struct{})
}
