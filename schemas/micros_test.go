package schemas_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/fusebox-project/fusebox/schemas"
)

func TestMicros(t *testing.T) {
	for _, tt := range []struct {
		f    float64
		want int64
		ok   bool
	}{
		{0, 0, true}, {0.0153, 15_300, true}, {0.0000005, 1, true}, {0.0000004999, 0, true},
		{1.0000005, 1_000_001, true}, // In binary it is a little less.
		{0.1 + 0.2, 300_000, true}, {25, 25_000_000, true}, {5e-324, 0, true},
		{math.Copysign(0, -1), 0, true}, {9_007_199_254.740992, schemas.MaxWhole, true},
		{9_007_199_255, 0, false}, {-1e-9, 0, false}, {math.NaN(), 0, false}, {math.Inf(1), 0, false},
	} {
		if got, ok := schemas.Micros(tt.f); got != tt.want || ok != tt.ok {
			t.Errorf("Micros(%v) = %d, %v, want %d, %v", tt.f, got, ok, tt.want, tt.ok)
		}
	}
}

// TestMicrosAgainstFractions compares with the shortest decimal as a fraction, near halves above all.
func TestMicrosAgainstFractions(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	for range 20_000 {
		f := (float64(rng.Int64N(1<<(1+rng.IntN(50)))) + 0.5) / 1e6
		if rng.IntN(2) == 0 {
			f = math.Nextafter(f, f+float64(rng.IntN(3)-1))
		}
		decimal, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'f', -1, 64))
		decimal.Mul(decimal, big.NewRat(1_000_000, 1)).Add(decimal, big.NewRat(1, 2))
		want := new(big.Int).Div(decimal.Num(), decimal.Denom()).Int64()
		if got, ok := schemas.Micros(f); got != want || !ok {
			t.Fatalf("Micros(%v) = %d, %v, want %d", f, got, ok, want)
		}
	}
}
