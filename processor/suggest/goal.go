package suggest

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// mostChance is how likely a false trip in a window may be at most where a goal is one of time: at a low rate that
// would else allow what the recording cannot tell of.
const mostChance = 1e-5

// Goal is how often a rule may trip on a route while all is well.
type Goal struct {
	Trips float64
	Every time.Duration // 0 is a window.
}

// periods are the times of a goal.
var periods = []struct {
	name  string
	every time.Duration
}{{"hour", time.Hour}, {"day", day}, {"week", 7 * day}, {"month", 30 * day}, {"year", 365 * day}}

// ParseGoal reads a goal as String writes it.
func ParseGoal(text string) (Goal, error) {
	wrong := errors.New("want so many a time, such as 1/week or 2/month (hour, day, week, month, year), or a chance " +
		"a window from 1e-12 to 0.1, such as 0.00001")
	number, name, timed := strings.Cut(text, "/")
	trips, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil:
		return Goal{}, wrong
	case !timed && trips >= 1e-12 && trips <= 0.1:
		return Goal{Trips: trips}, nil
	}
	for _, p := range periods {
		if p.name == name && trips > 0 && trips <= 1e6 {
			return Goal{trips, p.every}, nil
		}
	}
	return Goal{}, wrong
}

// String writes a goal as the flag of the command takes it.
func (g Goal) String() string {
	number := strconv.FormatFloat(g.Trips, 'g', -1, 64)
	for _, p := range periods {
		if p.every == g.Every {
			return number + "/" + p.name
		}
	}
	return number
}

// MarshalText returns what String does.
func (g Goal) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// chance returns how likely a false trip in a window may be, where so many windows come in a day, 0 if nobody knows.
func (g Goal) chance(windows float64) float64 {
	switch {
	case g.Every == 0:
		return g.Trips
	case windows == 0:
		return mostChance
	}
	return min(mostChance, g.Trips/g.Every.Hours()*24/windows)
}

// words says what the goal asks of a rule.
func (g Goal) words() string {
	share, words := g.Trips, ""
	if g.Every > 0 {
		share, words = mostChance, g.String()+", and "
	}
	return words + "in 1 of " + thousands(int(math.Round(1/share))) + " windows"
}

// often writes how many come in so many a day.
func often(perDay float64) string {
	const week, month, year, mostYears = 7, 30, 365, 1000
	switch {
	case perDay >= 10:
		return fmt.Sprintf("%.0f a day", perDay)
	case perDay >= 1:
		return fmt.Sprintf("%.1f a day", perDay)
	case perDay*week >= 1:
		return fmt.Sprintf("%.1f a week", perDay*week)
	case perDay*month >= 1:
		return fmt.Sprintf("%.1f a month", perDay*month)
	case perDay*year >= 1:
		return fmt.Sprintf("%.1f a year", perDay*year)
	case perDay*year*mostYears >= 1:
		return fmt.Sprintf("1 in %.0f years", 1/(perDay*year))
	}
	return "< 1 in 1,000 years"
}

// rate writes how many come in a day as so many in the shortest time that has one.
func rate(perDay float64) string {
	switch {
	case perDay >= day.Seconds():
		return tenths(perDay/day.Seconds()) + " a second"
	case perDay >= day.Minutes():
		return tenths(perDay/day.Minutes()) + " a minute"
	}
	return tenths(perDay/day.Hours()) + " an hour"
}

func tenths(n float64) string { return strconv.FormatFloat(math.Round(n*10)/10, 'f', -1, 64) }
