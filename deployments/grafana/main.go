// Command grafana writes the Grafana dashboards of Fusebox as JSON, into the directory dashboards:
//
//	go -C deployments/grafana run .
//
// What they show is said in overview.go, circuit.go and processor.go; how it looks is decided in dashboard.go and
// panel.go alone. The tests start the demo and a Prometheus, and want data for every expression.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	for _, d := range dashboards {
		if err := write(d); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// dashboards are all there are.
var dashboards = []dashboard{overview, circuit, processor}

// write writes a dashboard to its file.
func write(d dashboard) error {
	text, err := d.json()
	if err != nil {
		return err
	}
	return os.WriteFile(d.file(), text, 0o644)
}

// file returns where a dashboard is kept.
func (d dashboard) file() string { return filepath.Join("dashboards", d.uid+".json") }

// json returns the dashboard as Grafana reads it.
func (d dashboard) json() ([]byte, error) {
	built, err := d.build()
	if err != nil {
		return nil, fmt.Errorf("build the dashboard %s: %w", d.uid, err)
	}
	text, err := json.MarshalIndent(built, "", "  ")
	return append(text, '\n'), err
}
