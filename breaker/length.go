package breaker

import (
	"encoding/binary"
	"math"
	"math/big"
	"time"

	"github.com/cespare/xxhash/v2"
)

// length returns how long the break of an attempt is: duration * backoff^(attempt-1), times 1 + jitter * u with u in
// [-1, 1] from a hash of circuit and epoch, at least what the route asked for, at most the policy's limit. It is
// computed in whole numbers and rounded once, so that every machine gets the same.
func (b *Break) length(circuit string, attempt int, epoch, retryAfterMS int64) time.Duration {
	limit := b.Max.Milliseconds()
	return time.Duration(min(max(b.backedOff(circuit, attempt, epoch), retryAfterMS), limit)) * time.Millisecond
}

func (b *Break) backedOff(circuit string, attempt int, epoch int64) int64 {
	power := int64(attempt - 1)
	if b.BackoffMilli == milli {
		power = 0 // One to the power of anything is one, and attempts know no end.
	}
	if growth := math.Log2(float64(b.BackoffMilli) / milli); growth*float64(power) > 80 {
		return math.MaxInt64
	}
	const million = micro
	n := big.NewInt(b.Duration.Milliseconds())
	n.Mul(n, new(big.Int).Exp(big.NewInt(b.BackoffMilli), big.NewInt(power), nil))
	n.Mul(n, big.NewInt(milli*million+b.JitterMilli*unit(circuit, epoch)))
	d := new(big.Int).Exp(big.NewInt(milli), big.NewInt(power+1), nil)
	d.Mul(d, big.NewInt(million))
	n.Add(n.Lsh(n, 1), d).Div(n, d.Lsh(d, 1)) // Nearest, halves up.
	if !n.IsInt64() {
		return math.MaxInt64
	}
	return n.Int64()
}

// unit returns a number of millionths in [-1000000, 1000000] that depends on circuit and epoch alone.
func unit(circuit string, epoch int64) int64 {
	h := xxhash.Sum64(binary.BigEndian.AppendUint64([]byte(circuit), uint64(epoch)))
	return int64(h%(2*micro+1)) - micro
}
