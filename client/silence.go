package client

import (
	"context"
	"time"
)

// listen looks every so often which partitions are silent, and tells it once.
func (g *Gate) listen(ctx context.Context) {
	tick := time.NewTicker(min(time.Second, max(g.config.SilenceAfter/10, time.Millisecond)))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			g.heed()
		}
	}
}

// heed notes which partitions have fallen silent, or are heard again, and tells of it where the gate is ready. What it
// noted before the gate was ready was not told, so that its end is not told either.
func (g *Gate) heed() {
	g.heeding.Lock()
	defer g.heeding.Unlock()
	told, ready := g.heeded, g.isReady()
	g.heeded = ready
	t := g.known.Load()
	fallen, heard, silent := 0, 0, 0
	for _, p := range *t.partitions.Load() {
		now := g.silent(t, p)
		if now {
			silent++
		}
		switch was := p.silent.Swap(now) && told; {
		case now && !was:
			fallen++
		case was && !now:
			heard++
		}
	}
	g.careful.Store(!ready || silent > 0 && g.config.OnSilence != Keep)
	if fallen > 0 && ready {
		g.counts.silences.Add(int64(fallen))
		g.config.Log.Warn("no processor is heard of: "+g.config.OnSilence.words(), "topic", g.config.Topics.State,
			"partitions", silent, "for", g.config.SilenceAfter)
	}
	if heard > 0 && silent == 0 && ready {
		g.config.Log.Info("a processor is heard of again", "topic", g.config.Topics.State)
	}
}

func (o OnSilence) words() string {
	return [...]string{"calls go by what was known", "all calls are admitted", "all calls are refused"}[o]
}

// silent tells whether no processor was heard of the partition for too long, or nothing at all is known yet.
func (g *Gate) silent(t *table, p *partition) bool {
	return !g.isReady() || p.age(t) > g.config.SilenceAfter
}

// age returns how long ago a processor was last heard of the partition.
func (p *partition) age(t *table) time.Duration {
	age := time.Since(t.began)
	if p != nil {
		age -= time.Duration(p.heard.Load())
	}
	return max(age, 0)
}
