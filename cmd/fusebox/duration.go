package main

import (
	"time"

	"github.com/prometheus/common/model"
)

// readDuration reads a duration as people write it: days and weeks too, as in 7d or 1d12h, which Go does not know.
func readDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil {
		return d, nil
	}
	if long, notLong := model.ParseDuration(text); notLong == nil {
		return time.Duration(long), nil
	}
	return 0, err
}

// duration is a flag that takes what readDuration does.
type duration time.Duration

func (d *duration) Set(text string) error {
	read, err := readDuration(text)
	*d = duration(read)
	return err
}

func (d *duration) String() string { return time.Duration(*d).String() }

func (d *duration) Type() string { return "duration" }
