package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// These are set at link time by a release build: -X main.version=v1.2.3.
var (
	version = ""
	commit  = ""
)

// build says what this binary was made from.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

// String returns what a person is shown.
func (b build) String() string {
	return fmt.Sprintf("fusebox %s\ncommit %s\n%s\n", b.Version, b.Commit, b.Go)
}

// thisBuild returns what the linker and the Go toolchain know of this binary.
func thisBuild() build {
	b := build{Version: version, Commit: "unknown", Go: runtime.Version()}
	stamp, ok := debug.ReadBuildInfo()
	if !ok {
		stamp = new(debug.BuildInfo)
	}
	if b.Version == "" {
		b.Version = stamp.Main.Version
	}
	if b.Version == "" || b.Version == "(devel)" {
		b.Version = "devel"
	}
	var modified bool
	for _, s := range stamp.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	if modified {
		b.Commit += "+modified"
	}
	if commit != "" {
		b.Commit = commit
	}
	return b
}

func newVersionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print version, commit and Go",
		Example: "  fusebox version --json",
		Args:    arguments(),
	}
	asJSON := addJSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		b := thisBuild()
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), b)
		}
		_, err := io.WriteString(cmd.OutOrStdout(), b.String())
		return err
	}
	return cmd
}
