package backtest

import (
	"math"

	"github.com/fusebox-project/fusebox/breaker"
)

// Drawing is a timeline as a page draws it: bucket i begins at From + i*Width.
type Drawing struct {
	From  float64    `json:"from"`  // Seconds since 1970.
	Width float64    `json:"width"` // Seconds.
	Kinds []KindLine `json:"kinds"` // Accepted first, then what is neutral, then the failures.
	Rules []RuleLine `json:"rules"`
}

// End returns when the last bucket ends, in seconds since 1970.
func (d *Drawing) End() float64 {
	if len(d.Kinds) == 0 {
		return d.From
	}
	return d.From + d.Width*float64(len(d.Kinds[0].Counts))
}

// KindLine is how many outcomes of a kind are in each bucket.
type KindLine struct {
	Kind   string   `json:"kind"`
	Role   string   `json:"role"`
	Counts []uint32 `json:"counts"`
}

// Sum returns how many there are in all.
func (k *KindLine) Sum() int64 { return sum(k.Counts) }

// RuleLine is the highest value that a rule compared in each bucket; nil where it compared nothing.
type RuleLine struct {
	Rule      string     `json:"rule"`
	Threshold float64    `json:"threshold"`
	Values    []*float64 `json:"values"`
}

// Draw returns the timeline for a page.
func (t *Timeline) Draw() Drawing {
	d := Drawing{
		From: float64(t.from) / 1000, Width: float64(t.width) / 1000, Kinds: []KindLine{}, Rules: []RuleLine{},
	}
	for _, role := range []breaker.Role{breaker.Success, breaker.Neutral, breaker.Failure} {
		for _, k := range t.kinds {
			if k.role == role {
				d.Kinds = append(d.Kinds, KindLine{k.name, k.role.String(), k.counts[:t.used]})
			}
		}
	}
	for _, r := range t.rules {
		line := RuleLine{Rule: r.name, Threshold: r.threshold}
		for _, highest := range r.highest[:t.used] {
			line.Values = append(line.Values, drawn(highest))
		}
		d.Rules = append(d.Rules, line)
	}
	return d
}

// drawn returns a value to three decimals, which no eye tells apart.
func drawn(value float32) *float64 {
	if math.IsNaN(float64(value)) {
		return nil
	}
	rounded := math.Round(float64(value)*1000) / 1000
	return &rounded
}
