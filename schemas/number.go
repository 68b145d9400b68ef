package schemas

import (
	"math"
	"strconv"
)

// MaxWhole is the greatest whole number that every JSON reader keeps exact, and the greatest of an outcome's numbers.
const MaxWhole = 1 << 53

// Micros returns a number in millionths, rounded to the nearest, halves up, as its shortest decimal reads. It reports
// false where the number is negative, not finite or beyond MaxWhole millionths.
func Micros(f float64) (int64, bool) {
	if !(f >= 0 && f <= MaxWhole/1e6) {
		return 0, false
	}
	millionths := f * 1e6
	whole := math.Floor(millionths)
	if part := millionths - whole; millionths < 1e12 && math.Abs(part-0.5) > 1e-3 { // Nowhere near a half.
		return int64(whole + math.Round(part)), true
	}
	var buffer [32]byte
	n, _, small := scale(strconv.AppendFloat(buffer[:0], f, 'e', -1, 64), 6)
	return n, small
}

// scale returns text, a JSON number that is not negative, times 10 to the power of places, rounded to the nearest,
// halves up. It works on the decimal digits, so no number is bent by binary fractions. Exact says that nothing was
// rounded. Small is false where the result is beyond MaxWhole.
func scale(text []byte, places int) (n int64, exact, small bool) {
	mantissa, exponent := split(text)
	point := len(mantissa)
	for i, c := range mantissa {
		if c == '.' {
			point = i
			break
		}
	}
	return shift(mantissa, point+exponent+places)
}

// digits reads a number of few enough digits and nothing else, as nearly all are.
func digits(text []byte, n *int64) bool {
	if len(text) > 15 {
		return false
	}
	sum := int64(0)
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
		sum = sum*10 + int64(c-'0')
	}
	*n = sum
	return true
}

// shift returns the number that the first so many digits of the mantissa make, zeros added where it has not as many,
// rounded by the next digit.
func shift(mantissa []byte, whole int) (n int64, exact, small bool) {
	exact = true
	i := 0
	for _, c := range mantissa {
		if c == '.' {
			continue
		}
		switch {
		case i < whole:
			n = n*10 + int64(c-'0')
		case i == whole && c >= '5':
			n++
			exact = false
		case c != '0':
			exact = false
		}
		if n > MaxWhole {
			return 0, false, false
		}
		i++
	}
	for ; i < whole && n > 0; i++ {
		n *= 10
		if n > MaxWhole {
			return 0, false, false
		}
	}
	return n, exact, true
}

// split splits a JSON number at its exponent, which it bounds: no record is so long that it made a difference.
func split(text []byte) (mantissa []byte, exponent int) {
	const bound = 1 << 30
	for i, c := range text {
		if c != 'e' && c != 'E' {
			continue
		}
		negative := text[i+1] == '-'
		for _, d := range text[i+1:] {
			if d != '-' && d != '+' {
				exponent = min(exponent*10+int(d-'0'), bound)
			}
		}
		if negative {
			exponent = -exponent
		}
		return text[:i], exponent
	}
	return text, 0
}
