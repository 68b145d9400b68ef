package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	sdk "github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// dashboard is what one dashboard shows.
type dashboard struct {
	uid, title, about string
	circuits          choice // Whether there is a $circuit.
	rows              []row
}

// choice is how many circuits a reader chooses.
type choice int

const (
	noCircuit choice = iota
	oneCircuit
	manyCircuits
)

// row is a heading and its panels, whose widths fill lines of 24.
type row struct {
	title  string
	panels []panel
}

const (
	docs    = "https://github.com/fusebox-project/fusebox/blob/main/docs/"
	runbook = docs + "runbook.md"
	tag     = "fusebox"
)

// source is the Prometheus that a reader chooses.
var source = common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("$datasource")}

// build makes the dashboard.
func (d dashboard) build() (sdk.Dashboard, error) {
	b := sdk.NewDashboardBuilder(d.title).
		Uid(d.uid).Description(d.about).Tags([]string{tag}).Timezone("browser").
		Time("now-3h", "now").Refresh("30s").Tooltip(sdk.DashboardCursorSyncCrosshair).
		Link(sdk.NewDashboardLinkBuilder("Fusebox").Type(sdk.DashboardLinkTypeDashboards).Tags([]string{tag}).
			IncludeVars(true).KeepTime(true)).
		Link(link("Console", "${console}", "What is open, since when, why; served by every instance")).
		Link(link("Runbook", runbook, "A section for each alert"))
	for _, v := range d.variables() {
		b.WithVariable(v)
	}
	id := uint32(0)
	for _, r := range d.rows {
		id++
		b.WithRow(sdk.NewRowBuilder(r.title).Id(id))
		for _, p := range r.panels {
			id++
			b.WithPanel(p.builder(id))
		}
	}
	built, err := b.Build()
	for i := range built.Links {
		built.Links[i].Placement = nil // At the top, where they are seen, and not in a menu.
	}
	return built, err
}

func link(title, url, tooltip string) *sdk.DashboardLinkBuilder {
	return sdk.NewDashboardLinkBuilder(title).Type(sdk.DashboardLinkTypeLink).Icon("external link").
		Url(url).Tooltip(tooltip).TargetBlank(true)
}

// variables are what a reader chooses at the top.
func (d dashboard) variables() []cog.Builder[sdk.VariableModel] {
	all := []cog.Builder[sdk.VariableModel]{
		sdk.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus"),
		query("job", "label_values(fusebox_build_info, job)").Label("Job").
			Description("One job is one group of processors"),
	}
	circuits := query("circuit", `label_values(fusebox_circuit_state{job=~"$job"}, circuit)`).Label("Circuit")
	switch d.circuits {
	case oneCircuit:
		all = append(all, circuits)
	case manyCircuits:
		all = append(all, circuits.Multi(true).IncludeAll(true).AllValue(".*").Current(sdk.VariableOption{
			Text:  sdk.StringOrArrayOfString{ArrayOfString: []string{"All"}},
			Value: sdk.StringOrArrayOfString{ArrayOfString: []string{"$__all"}},
		}))
	}
	return append(all, sdk.NewTextBoxVariableBuilder("console").Label("Console").
		Description("Where the console of an instance is served").
		DefaultValue(sdk.StringOrMap{String: cog.ToPtr("http://localhost:8080/")}))
}

func query(name, text string) *sdk.QueryVariableBuilder {
	return sdk.NewQueryVariableBuilder(name).Datasource(source).Query(sdk.StringOrMap{String: cog.ToPtr(text)}).
		Refresh(sdk.VariableRefreshOnTimeRangeChanged).Sort(sdk.VariableSortAlphabeticalAsc)
}
