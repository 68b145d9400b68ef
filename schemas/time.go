package schemas

import "time"

// time reads an RFC 3339 time and rounds it to the millisecond, halves up. A leap second is the last millisecond of the
// second before it. Go's zero time, which a producer in Go sends for a time that it never set, is absent.
func (v *value) time(t *time.Time) error {
	*t = time.Time{}
	if v.kind == 'n' {
		return nil
	}
	const want = "must be an RFC 3339 time, as 2026-09-14T12:00:00.123Z"
	if v.kind != '"' {
		return v.wrong(want)
	}
	text, _ := v.decoded(true)
	var parsed time.Time
	if err := parsed.UnmarshalText([]byte(text)); err != nil {
		var ok bool
		if parsed, ok = unusualTime(text); !ok {
			return v.wrong(want)
		}
	}
	rounded := parsed.UTC()
	if rounded.Nanosecond()%int(time.Millisecond) != 0 {
		rounded = rounded.Round(time.Millisecond)
	}
	if year := rounded.Year(); year < 1 || year > 9999 {
		return v.wrong("must be in the years 1 to 9999")
	}
	*t = rounded
	return nil
}

// unusualTime reads what RFC 3339 allows and package time does not: a t and a z in lower case, and a leap second, which
// ends a month of UTC.
func unusualTime(text string) (time.Time, bool) {
	const seconds = len("2026-09-14T12:00:")
	var t time.Time
	b := []byte(text)
	if len(b) < seconds+len("60Z") {
		return t, false
	}
	if b[10] == 't' {
		b[10] = 'T'
	}
	if last := len(b) - 1; b[last] == 'z' {
		b[last] = 'Z'
	}
	leap := b[seconds] == '6' && b[seconds+1] == '0'
	if leap {
		b[seconds], b[seconds+1] = '5', '9'
	}
	if err := t.UnmarshalText(b); err != nil || !leap {
		return t, err == nil
	}
	t = t.UTC().Truncate(time.Second)
	next := t.Add(time.Second)
	if next.Day() != 1 || next.Hour() != 0 || next.Minute() != 0 || next.Second() != 0 {
		return t, false
	}
	return next.Add(-time.Millisecond), true
}
