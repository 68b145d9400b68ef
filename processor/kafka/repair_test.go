//go:build synctests

package kafka

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fusebox-project/fusebox/schemas"
)

// plainPolicy opens when half of the outcomes of ten minutes are failures, so that the throughput of the cause says how
// many were counted.
const plainPolicy = `version: 1
defaults: {window: 10m, minimum_throughput: 4, break: {duration: 10m, jitter: 0}}
policies:
- {name: plain, match: ["*"], rules: [{name: failure-ratio, type: ratio, threshold: 0.5}]}
`

const repaired = "case:repaired:v1"

// produceMany writes outcomes of one circuit that nothing tells apart.
func (w *world) produceMany(n int, kind string) {
	w.t.Helper()
	var records []*kgo.Record
	for range n {
		records = append(records, outcome(repaired, kind, ""))
	}
	w.Produce(w.t, records...)
}

// counted returns how many outcomes stand in the circuit's window: as many failures as there are good ones open it.
func (w *world) counted(good int) int {
	w.t.Helper()
	w.produceMany(good-1, schemas.MissingEvidence)
	w.caughtUp()
	for _, r := range w.ReadCommitted(w.t, topics.Transitions) {
		if strings.Contains(string(r.Value), `"state":"open"`) {
			w.t.Fatalf("%s is open before its %d outcomes are outweighed: %s", r.Key, good, r.Value)
		}
	}
	w.produceMany(1, schemas.MissingEvidence)
	st := w.await(repaired, func(st schemas.State) bool { return st.State == schemas.Open })
	return int(st.Cause.Throughput)
}

// TestRepair moves the group's offsets back and ahead between two lives. The partition is refused, names the command,
// and after it goes on, in the process that refused it, with what the report has promised.
func TestRepair(t *testing.T) {
	// Ten outcomes were counted, five more came while nobody ran.
	for _, tt := range []struct {
		name  string
		group int64
		take  Side
		want  Choice
		good  int // Outcomes in the circuit's window in the end.
	}{
		{"back, progress", 4, TakeProgress, Choice{Take: TakeProgress, From: Records{10, 0}}, 15},
		{"back, group", 4, TakeGroup, Choice{Take: TakeGroup, From: Records{4, 0}, Again: Records{6, 0}}, 21},
		{"ahead, progress", 12, TakeProgress, Choice{Take: TakeProgress, From: Records{10, 0}}, 15},
		{"ahead, group", 12, TakeGroup, Choice{Take: TakeGroup, From: Records{12, 0}, Skipped: Records{2, 0}}, 13},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, 1, func(t *testing.T, w *world) {
				w.policies = policies(t, plainPolicy)
				first := w.start(nil, nil)
				w.produceMany(10, schemas.Accepted)
				w.caughtUp()
				w.ready(first)
				w.end(first)
				w.produceMany(5, schemas.Accepted)
				w.setOffsets(tt.group, 0)

				second := w.start(nil, nil)
				command := "`fusebox topics repair --partition 0 --take " + string(tt.take) + "`"
				if why := w.refusal(second); !strings.Contains(why, command) {
					t.Errorf("it is refused with %q, want %s in it", why, command)
				}
				time.Sleep(3 * beatEvery)
				if n := strings.Count(w.log.String(), "partition does not start"); n != 1 {
					t.Errorf("the log says %d times that it does not start, want once", n)
				}
				r := w.openRepair()
				all := w.standings(r)
				if got, _ := all[0].Choice(tt.take); all[0].Relation != Differs || got != tt.want {
					t.Errorf("Standings = %+v, want %s to be %+v", all, tt.take, tt.want)
				}
				if err := r.Take(context.Background(), tt.take, all); err != nil {
					t.Fatalf("Take(%s): %v", tt.take, err)
				}
				w.ready(second)
				w.caughtUp()
				if got := w.counted(tt.good); got != 2*tt.good {
					t.Errorf("throughput is %d when the circuit opens, want %d", got, 2*tt.good)
				}
				if all := w.standings(r); all[0].Relation != Agrees {
					t.Errorf("Standings after it = %+v, want agrees", all)
				}
			})
		})
	}
}

// TestRepairWithoutProgress takes the changelog away. Either way the circuits begin anew: with the group from where it
// is, with progress from the start of the topics.
func TestRepairWithoutProgress(t *testing.T) {
	for _, tt := range []struct {
		take           Side
		skipped, again int64
		good           int
	}{{TakeGroup, 10, 0, 5}, {TakeProgress, 0, 10, 15}} {
		t.Run(string(tt.take), func(t *testing.T) {
			inWorld(t, 1, func(t *testing.T, w *world) {
				w.policies = policies(t, plainPolicy)
				first := w.start(nil, nil)
				w.produceMany(10, schemas.Accepted)
				w.caughtUp()
				w.ready(first)
				w.end(first)
				w.recreate(topics.Changelog)
				w.produceMany(5, schemas.Accepted)

				r := w.openRepair()
				all := w.standings(r)
				choice, _ := all[0].Choice(tt.take)
				if choice.Skipped.Outcomes != tt.skipped || choice.Again.Outcomes != tt.again ||
					!strings.Contains(all[0].Says, "no progress record") {
					t.Errorf("Standings = %+v, want %d skipped and %d again", all, tt.skipped, tt.again)
				}
				if err := r.Take(context.Background(), tt.take, all); err != nil {
					t.Fatalf("Take(%s): %v", tt.take, err)
				}
				second := w.start(nil, nil)
				w.ready(second)
				w.caughtUp()
				if got := w.counted(tt.good); got != 2*tt.good {
					t.Errorf("throughput is %d when the circuit opens, want %d", got, 2*tt.good)
				}
			})
		})
	}
}

// recreate deletes a topic and creates it again.
func (w *world) recreate(topic string) {
	w.t.Helper()
	if _, err := kadm.NewClient(w.Client(w.t)).DeleteTopic(context.Background(), topic); err != nil {
		w.t.Fatalf("DeleteTopic(%s): %v", topic, err)
	}
	settings := map[string]string{}
	if topic == topics.Changelog {
		settings["cleanup.policy"] = "compact"
	}
	w.Create(w.t, w.partitions, settings, topic)
}

// TestRepairStandings: what else there can be, and whether a processor then starts by itself, which is what the
// standing says.
func TestRepairStandings(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(w *world)
		want   Relation
		says   string
	}{
		{"nothing", func(*world) {}, Agrees, "both are at outcomes 10 and signals 0"},
		{"no offsets", func(w *world) {
			kadm.NewClient(w.Client(w.t)).DeleteGroups(context.Background(), group)
		}, Expired, "goes on from the changelog, at outcomes 10"},
		{"an input anew", func(w *world) { w.recreate(topics.Outcomes) }, Recreated, "read from its start"},
		{"all anew", func(w *world) {
			kadm.NewClient(w.Client(w.t)).DeleteGroups(context.Background(), group)
			w.recreate(topics.Changelog)
		}, Fresh, "nothing was handled yet"},
		{"a newer version", func(w *world) {
			newer := []byte(`{"schema":2}`)
			w.ProduceTo(w.t, &kgo.Record{Topic: topics.Changelog, Key: []byte(progressKey), Value: newer})
		}, Unreadable, "progress record of version 2, this one reads up to 1"},
		{"beyond the end", func(w *world) {
			w.ProduceTo(w.t, &kgo.Record{Topic: topics.Changelog, Key: []byte(progressKey), Value: progress{
				Schema: progressSchema, Partitions: 1,
				Outcomes: inputPosition{w.topicID(topics.Outcomes), 99},
				Signals:  inputPosition{w.topicID(topics.Signals), 0},
			}.append(nil)})
			w.setOffsets(99, 0)
		}, Lost, "ends at offset 10, and records up to 99 were handled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, 1, func(t *testing.T, w *world) {
				first := w.start(nil, nil)
				w.produceMany(10, schemas.Accepted)
				w.caughtUp()
				w.ready(first)
				w.end(first)
				tt.change(w)
				r := w.openRepair()
				all := w.standings(r)
				if all[0].Relation != tt.want || !strings.Contains(all[0].Says, tt.says) {
					t.Errorf("Standings = %+v, want %s that says %q", all, tt.want, tt.says)
				}
				if err := r.Take(context.Background(), TakeProgress, all); err == nil {
					t.Error("Take(progress) = nil where nothing differs")
				}
				second := w.start(nil, nil)
				if tt.want.Starts() {
					w.ready(second)
					return
				}
				w.refusal(second)
			})
		})
	}
}

func (w *world) topicID(topic string) string {
	w.t.Helper()
	r := w.openRepair()
	return r.cluster.topicIDs[topic]
}

// TestRepairLeavesTheWorkingAlone looks at a partition that is worked on: it never differs, though offsets and progress
// are read one after the other.
func TestRepairLeavesTheWorkingAlone(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.ready(w.start(func(c *Config) { c.CommitInterval = time.Nanosecond }, nil))
		repair := w.openRepair()
		client := w.Client(t, kgo.ProducerLinger(0))
		for round := range 200 {
			client.Produce(t.Context(), outcome(repaired, schemas.Accepted, ""), nil)
			if s := w.standings(repair)[0]; !s.Relation.Starts() {
				t.Fatalf("round %d: Standings has %+v", round, s)
			}
		}
	})
}

// TestRepairOfWhatMoved moves the offsets once more between the report and the answer: nothing is written.
func TestRepairOfWhatMoved(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		first := w.start(nil, nil)
		w.produceMany(10, schemas.Accepted)
		w.caughtUp()
		w.ready(first)
		w.end(first)
		w.setOffsets(4, 0)
		r := w.openRepair()
		all := w.standings(r)
		w.setOffsets(5, 0)
		err := r.Take(context.Background(), TakeGroup, all)
		if err == nil || !strings.Contains(err.Error(), "has moved meanwhile") {
			t.Errorf("Take(group) = %v, want an error as it has moved", err)
		}
		if now := w.standings(r); now[0].Says != "the changelog is at outcomes 10 and signals 0, the group is at "+
			"outcomes 5 and signals 0" {
			t.Errorf("Standings after it = %+v", now)
		}
	})
}

// TestRepairBeyondTheEnd: offsets beyond the end of a topic cannot be taken.
func TestRepairBeyondTheEnd(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		first := w.start(nil, nil)
		w.produceMany(10, schemas.Accepted)
		w.caughtUp()
		w.ready(first)
		w.end(first)
		w.setOffsets(50, 0)
		r := w.openRepair()
		all := w.standings(r)
		err := r.Take(context.Background(), TakeGroup, all)
		if err == nil || !strings.Contains(err.Error(), "ends at offset 10") {
			t.Errorf("Take(group) = %v, want an error that names the end", err)
		}
		if err := r.Take(context.Background(), TakeProgress, all); err != nil {
			t.Errorf("Take(progress): %v", err)
		}
	})
}

// TestRepairWhileBrokersAreAway cuts the first connections that ask for the topics: the report waits for an answer.
func TestRepairWhileBrokersAreAway(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		back := time.Now().Add(5 * time.Second)
		w.fake.ControlKey(int16(kmsg.Metadata), func(kmsg.Request) (kmsg.Response, error, bool) {
			w.fake.KeepControl()
			return nil, errors.New("away"), time.Now().Before(back)
		})
		if all := w.standings(w.openRepair()); len(all) != 1 || all[0].Relation != Fresh {
			t.Errorf("Standings = %+v, want one of a partition of which nothing was handled", all)
		}
	})
}

// TestRepairCountsSomeOfMany has more between both sides than is read: records of the first partition are counted, and
// offsets of the second.
func TestRepairCountsSomeOfMany(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		first := w.start(nil, nil)
		w.ready(first)
		w.produceAll(0, 20, waves)
		w.caughtUp()
		w.end(first)
		offsets := kadm.Offsets{}
		for id := range int32(2) {
			offsets.AddOffset(topics.Outcomes, id, 0, -1)
			offsets.AddOffset(topics.Signals, id, 0, -1)
		}
		if err := kadm.NewClient(w.Client(t)).CommitAllOffsets(t.Context(), group, offsets); err != nil {
			t.Fatalf("CommitAllOffsets: %v", err)
		}
		r := w.openRepair()
		exact := w.standings(r)
		r.most = exact[0].Choices[1].Again.Outcomes + exact[0].Choices[1].Again.Signals
		for range 2 { // Each look counts anew.
			for i, s := range w.standings(r) {
				got, want := s.Choices[1], exact[i].Choices[1]
				if want.AtMost = i == 1; got != want || got.Again.Outcomes == 0 {
					t.Errorf("taking the group's side of partition %d is %+v, want %+v", i, got, want)
				}
			}
		}
	})
}

// TestRepairBesideAHungTransaction has a transaction open between both sides, where nobody can read: what cannot be
// counted does not keep a side from being taken.
func TestRepairBesideAHungTransaction(t *testing.T) {
	inWorld(t, 1, func(t *testing.T, w *world) {
		first := w.start(nil, nil)
		w.produceMany(10, schemas.Accepted)
		w.caughtUp()
		w.ready(first)
		w.end(first)
		w.produceMany(2, schemas.Accepted)
		rogue := w.Client(t, kgo.TransactionalID("rogue"), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
		if err := rogue.BeginTransaction(); err != nil {
			t.Fatalf("BeginTransaction: %v", err)
		}
		if err := rogue.ProduceSync(t.Context(), outcome(repaired, schemas.Accepted, "")).FirstErr(); err != nil {
			t.Fatalf("ProduceSync: %v", err)
		}
		w.produceMany(4, schemas.Accepted)
		w.setOffsets(17, 0)
		r := w.openRepair()
		all := w.standings(r)
		want := Choice{Take: TakeGroup, From: Records{17, 0}, Skipped: Records{7, 0}, AtMost: true}
		if got, _ := all[0].Choice(TakeGroup); got != want {
			t.Errorf("taking the group's side is %+v, want %+v", got, want)
		}
		if err := r.Take(t.Context(), TakeProgress, all); err != nil {
			t.Errorf("Take(progress): %v", err)
		}
	})
}
