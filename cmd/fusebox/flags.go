package main

import (
	"errors"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fusebox-project/fusebox/processor/near"
)

// unknownFlag returns the name of a flag that a command does not have, where an error is about that.
func unknownFlag(err error) (string, bool) {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) || missing.GetSpecifiedShortnames() != "" {
		return "", false
	}
	return missing.GetSpecifiedName(), true
}

// didYouMeanFlag names the flag that was meant.
func didYouMeanFlag(cmd *cobra.Command, name string) string {
	var flags []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
	if found := near.Words(name, flags); len(found) > 0 {
		return "; did you mean --" + found[0] + "?"
	}
	return ""
}

// wrongValue returns a flag and the value that it cannot have, where an error is about that.
func wrongValue(err error) (*pflag.Flag, string, bool) {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return nil, "", false
	}
	return invalid.GetFlag(), invalid.GetValue(), true
}

// rightValue says what a value of a type is like. A bare number of a duration is taken for seconds.
func rightValue(kind, value string) string {
	switch kind {
	case "duration":
		if _, err := strconv.ParseFloat(value, 64); err == nil {
			return "a duration with its unit; write " + value + "s"
		}
		return "a duration, such as 60s, 30m or 1h"
	case "float64":
		return "a number, such as 2.5"
	case "int16", "int32":
		return "a whole number, such as 12"
	case "int32Slice":
		return "whole numbers, separated by commas, such as 0,3"
	case "bool":
		return "true or false"
	}
	return "a " + kind
}
