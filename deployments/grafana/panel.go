package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	sdk "github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// panel is one plot or number.
type panel struct {
	title, about, unit string
	width              uint32
	kind               kind
	targets            []target
	alerts             []string // Those that watch this: it links to their sections of the runbook.
	palette            palette
	steps              []step   // Colours of a number; without them it is blue.
	bounds             bool     // From 0 to 1.
	detail             bool     // Its series are circuits: they lead to the dashboard of one circuit.
	words              [2]words // What 0 and 1 mean, in a timeline.
}

// target is one query. Legend is a template of labels.
type target struct{ expr, legend string }

// one is a single target.
func one(legend, expr string) []target { return []target{{expr, legend}} }

// step is a colour from a value on.
type step struct {
	from  float64
	color string
}

type words struct{ text, color string }

type kind int

const (
	lines kind = iota
	stacked
	number
	timeline
)

// palette gives names of series a colour that they have everywhere.
type palette map[string]string

var (
	ofStates = palette{
		"closed": "green", "open": "red", "half_open": "orange",
		"forced_open": "dark-red", "forced_closed": "blue", "disabled": "text",
	}
	ofPhases   = palette{"running": "green", "catching_up": "yellow", "restoring": "orange", "refused": "red"}
	ofShares   = palette{"acceptance": "green", "availability": "blue", "gap": "red"}
	ofVerdicts = palette{"accepted": "green", "rejected": "red"}
	ofEndings  = palette{"committed": "green", "aborted": "red", "unknown": "orange"}
)

// builder makes the panel.
func (p panel) builder(id uint32) cog.Builder[sdk.Panel] {
	switch p.kind {
	case number:
		return fill(stat.NewPanelBuilder(), p).Id(id).Height(4).Orientation(common.VizOrientationAuto).
			GraphMode(common.BigValueGraphModeArea).
			ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})).
			Thresholds(p.thresholds()).
			ColorScheme(sdk.NewFieldColorBuilder().Mode(sdk.FieldColorModeIdThresholds))
	case timeline:
		return fill(statetimeline.NewPanelBuilder(), p).Id(id).Height(8).
			Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeSingle).
				Sort(common.SortOrderNone)).
			ShowValue(common.VisibilityModeNever).RowHeight(0.8).MergeValues(true).
			Mappings([]sdk.ValueMapping{{ValueMap: p.mapping()}})
	case stacked:
		return p.colored(plot(p).Id(id).FillOpacity(40).
			Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal)))
	default:
		return p.colored(plot(p).Id(id).FillOpacity(5))
	}
}

func plot(p panel) *timeseries.PanelBuilder {
	b := fill(timeseries.NewPanelBuilder(), p).Height(8).Min(0).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).Placement(common.LegendPlacementBottom).
			DisplayMode(common.LegendDisplayModeList)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).
			Sort(common.SortOrderDescending))
	if p.bounds {
		b.Max(1)
	}
	return b
}

// filled is what the builders of all kinds of panels have in common.
type filled[B any] interface {
	Title(string) B
	Description(string) B
	Unit(string) B
	Span(uint32) B
	Datasource(common.DataSourceRef) B
	Links([]cog.Builder[sdk.DashboardLink]) B
	DataLinks([]cog.Builder[sdk.DashboardLink]) B
	WithTarget(cog.Builder[variants.Dataquery]) B
}

// fill says what a panel shows.
func fill[B filled[B]](b B, p panel) B {
	b.Title(p.title).Description(p.about).Unit(p.unit).Span(p.width).Datasource(source)
	for i, t := range p.targets {
		b.WithTarget(prometheus.NewDataqueryBuilder().RefId(string(rune('A' + i))).Datasource(source).
			Expr(t.expr).LegendFormat(t.legend).Range())
	}
	var links []cog.Builder[sdk.DashboardLink]
	for _, alert := range p.alerts {
		links = append(links, link("Runbook: "+alert, runbook+"#"+strings.ToLower(alert), ""))
	}
	if links != nil {
		b.Links(links)
	}
	if p.detail {
		b.DataLinks([]cog.Builder[sdk.DashboardLink]{link("One circuit",
			"/d/"+circuitUID+"?${datasource:queryparam}&${job:queryparam}&${console:queryparam}"+
				"&var-circuit=${__field.labels.circuit:percentencode}", "")})
	}
	return b
}

// colored gives the names of the palette their colours.
func (p panel) colored(b *timeseries.PanelBuilder) *timeseries.PanelBuilder {
	for _, name := range slices.Sorted(maps.Keys(p.palette)) {
		b.OverrideByName(name, []sdk.DynamicConfigValue{
			{Id: "color", Value: map[string]string{"mode": "fixed", "fixedColor": p.palette[name]}},
		})
	}
	return b
}

func (p panel) thresholds() *sdk.ThresholdsConfigBuilder {
	steps := []sdk.Threshold{{Color: "blue"}}
	if len(p.steps) > 0 {
		steps = nil
	}
	for i, s := range p.steps {
		steps = append(steps, sdk.Threshold{Color: s.color})
		if i > 0 { // The first begins at minus infinity.
			steps[i].Value = &s.from
		}
	}
	return sdk.NewThresholdsConfigBuilder().Mode(sdk.ThresholdsModeAbsolute).Steps(steps)
}

func (p panel) mapping() *sdk.ValueMap {
	options := map[string]sdk.ValueMappingResult{}
	for i, value := range []string{"0", "1"} {
		options[value] = sdk.ValueMappingResult{
			Text: &p.words[i].text, Color: &p.words[i].color, Index: cog.ToPtr(int32(i)),
		}
	}
	return &sdk.ValueMap{Type: sdk.MappingTypeValueToText, Options: options}
}
