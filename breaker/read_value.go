package breaker

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v4"

	"github.com/fusebox-project/fusebox/schemas"
)

// limits says what a number may be.
type limits struct {
	places      int    // Decimals at most.
	least, most int64  // In units of the last decimal; both may be reached.
	right       string // What would be right, in words.
}

// number reads a number and returns it in units of its last decimal: 0.5 with three places as 500.
func (r *parser) number(n *yaml.Node, what string, l limits) (int64, bool) {
	tag := n.ShortTag()
	if n.Kind != yaml.ScalarNode || tag != "!!int" && tag != "!!float" {
		r.fault(n, "%s is %s; write %s%s", what, describe(n), l.right, unquoted(n))
		return 0, false
	}
	exact, ok := decimal(n.Value)
	if !ok {
		r.fault(n, "%s is %s; write %s, in decimal digits", what, shorten(n.Value), l.right)
		return 0, false
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(l.places)), nil)
	scaled := new(big.Rat).Mul(exact, new(big.Rat).SetInt(unit))
	if !scaled.IsInt() && l.places > 0 && scaled.Cmp(new(big.Rat).SetInt64(l.most)) < 0 {
		r.fault(n, "%s is %s, which has more than %s decimals; write %s", what, shorten(n.Value), inWords(l.places),
			l.right)
		return 0, false
	}
	if !scaled.IsInt() || !scaled.Num().IsInt64() || scaled.Num().Int64() < l.least || scaled.Num().Int64() > l.most {
		r.fault(n, "%s is %s; write %s", what, shorten(n.Value), l.right)
		return 0, false
	}
	return scaled.Num().Int64(), true
}

// unquoted says what to do with a number in quotes.
func unquoted(n *yaml.Node) string {
	if _, ok := decimal(n.Value); n.Kind == yaml.ScalarNode && ok {
		return ", without quotes"
	}
	return ""
}

// decimal returns the exact value of decimal digits, with an exponent of at most two digits.
func decimal(text string) (*big.Rat, bool) {
	digits := strings.ReplaceAll(text, "_", "")
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(digits), "e")
	if scientific && (len(strings.TrimLeft(exponent, "+-")) > 2 || !numeric(exponent)) {
		return nil, false
	}
	whole := strings.TrimLeft(mantissa, "+-")
	if len(mantissa) > 60 || !numeric(mantissa) || len(whole) > 1 && whole[0] == '0' && whole[1] != '.' {
		return nil, false
	}
	return new(big.Rat).SetString(digits)
}

// numeric tells whether there is nothing but digits, signs and points.
func numeric(text string) bool { return strings.Trim(text, "0123456789+-.") == "" }

func inWords(places int) string {
	if places == 6 {
		return "six"
	}
	return "three"
}

// The longest that can be asked for: of a window a leap year, of all else ten.
const (
	longestWindow = 366 * 24 * time.Hour
	longestTime   = 10 * longestWindow
)

// duration reads a time of whole milliseconds.
func (r *parser) duration(n *yaml.Node, what string, least, most time.Duration) (time.Duration, bool) {
	right := fmt.Sprintf("write a duration of at least %s and at most %s, such as 30s",
		schemas.Brief(least), schemas.Brief(most))
	tag := n.ShortTag()
	if n.Kind != yaml.ScalarNode || tag != "!!str" && tag != "!!int" && tag != "!!float" {
		r.fault(n, "%s is %s; %s", what, describe(n), right)
		return 0, false
	}
	d, err := time.ParseDuration(n.Value)
	bare, isBare := decimal(n.Value)
	days, inDays := strings.CutSuffix(n.Value, "d")
	switch count, notWhole := strconv.Atoi(days); {
	case isBare && bare.Sign() > 0:
		r.fault(n, "%s is %s, which has no unit; write %ss if seconds are meant", what, n.Value, n.Value)
	case inDays && notWhole == nil && count > 0 && count <= 3660:
		r.fault(n, "%s is %s, and h is the longest unit; write %dh", what, n.Value, count*24)
	case err != nil:
		r.fault(n, "%s is %s; %s", what, describe(n), right)
	case d < least || d > most:
		r.fault(n, "%s is %s; %s", what, n.Value, right)
	case d%time.Millisecond != 0:
		r.fault(n, "%s is %s; write whole milliseconds, such as %s", what, n.Value,
			schemas.Brief(d.Round(time.Millisecond)))
	default:
		return d, true
	}
	return 0, false
}

// text reads a text of 1 to so many bytes without control characters.
func (r *parser) text(n *yaml.Node, what string, most int) (string, bool) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" && n.Value == "" {
		r.fault(n, "%s is empty; write a text of 1 to %d bytes", what, most)
		return "", false
	}
	if n.Kind != yaml.ScalarNode {
		r.fault(n, "%s is %s; write a text", what, describe(n))
		return "", false
	}
	if n.ShortTag() != "!!str" {
		r.fault(n, "%s is %s; write a text, in quotes: %q", what, describe(n), shorten(n.Value))
		return "", false
	}
	if n.Value == "" {
		r.fault(n, "%s is empty; write a text of 1 to %d bytes", what, most)
		return "", false
	}
	if len(n.Value) > most {
		r.fault(n, "%s has %d bytes; write at most %d", what, len(n.Value), most)
		return "", false
	}
	if strings.ContainsFunc(n.Value, unicode.IsControl) {
		r.fault(n, "%s has control characters, such as a line break; write it without them", what)
		return "", false
	}
	return n.Value, true
}

// word reads one of the known words.
func (r *parser) word(n *yaml.Node, what string, known []string) (string, bool) {
	if n.Kind == yaml.ScalarNode && slices.Contains(known, n.Value) {
		return n.Value, true
	}
	if n.Kind != yaml.ScalarNode || isNull(n) {
		r.fault(n, "%s is %s; write one of %s", what, describe(n), strings.Join(known, ", "))
		return "", false
	}
	r.fault(n, "%s is %q, which is unknown; %s", what, shorten(n.Value), advice(n.Value, "write one of ", known))
	return "", false
}

// flag reads true or false.
func (r *parser) flag(n *yaml.Node, what string, absent bool) bool {
	if n == nil {
		return absent
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
		r.fault(n, "%s is %s; write true or false, without quotes", what, describe(n))
		return absent
	}
	return strings.EqualFold(n.Value, "true")
}

// inThousandths writes a number of thousandths: 500 as 0.5.
func inThousandths(v int64) string { return strconv.FormatFloat(float64(v)/1000, 'f', -1, 64) }
