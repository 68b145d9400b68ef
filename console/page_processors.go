package console

import (
	"net/http"

	"github.com/fusebox-project/fusebox/schemas"
)

// processorsView is the page of the processors.
type processorsView struct {
	frame
	Badge badge
	P     processors
	Rows  []partitionRow
}

// partitionRow is a partition in the list.
type partitionRow struct {
	partition
	Badge           badge
	Progress, Heard string
}

func (c *Console) processorsPage(w http.ResponseWriter, _ *http.Request) {
	v := processorsView{frame: c.frame("processors", "Processors"), Badge: badge{"ok", "ready"}}
	v.P = c.processors(v.Now)
	if !v.P.Ready {
		v.Badge = badge{"warn", "not ready"}
	}
	own := map[int32]partitionRow{}
	for _, p := range v.P.Own {
		row := partitionRow{Badge: badge{"warn", p.Phase}, Progress: p.Problem}
		if p.Phase == "running" && p.Problem == "" {
			row.Badge.Class = "ok"
		} else if p.Total > 0 {
			row.Progress = p.String()
		}
		own[p.Partition] = row
	}
	for _, p := range v.P.Partitions {
		row, mine := own[p.Partition]
		row.partition = p
		row.Heard = schemas.Until(p.At, v.Now) + " ago"
		if mine {
			row.Instance = v.Instance
		} else if row.Badge = (badge{"ok", "running"}); p.Silent {
			row.Badge = badge{"bad", "silent"}
		}
		v.Rows = append(v.Rows, row)
	}
	c.render(w, http.StatusOK, "processors", v)
}
