package breaker

import (
	"math"
	"math/bits"
)

const (
	milli = 1_000
	micro = 1_000_000
)

// times multiplies two numbers that are not negative, and stays at the greatest where the product is beyond it.
func times(a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}

// reaches tells whether a*b >= c*d, exactly. None is negative.
func reaches(a, b, c, d int64) bool {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	hi2, lo2 := bits.Mul64(uint64(c), uint64(d))
	return hi > hi2 || hi == hi2 && lo >= lo2
}

// share returns a/b to the nearest millionth, halves up. b is not 0.
func share(a, b int64) float64 {
	return math.Floor(float64(a)/float64(b)*micro+0.5) / micro
}
