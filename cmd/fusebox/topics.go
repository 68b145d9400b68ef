package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/processor/kafka"
)

// topicsTimeout is how long the topics may take to be created or looked at.
const topicsTimeout = time.Minute

func newTopicsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:     "topics",
		Short:   "Create, check and repair the topics",
		Example: "  FUSEBOX_BROKERS=kafka:9092 fusebox topics create",
	}, newTopicsCreateCommand(), newTopicsCheckCommand(), newTopicsRepairCommand())
}

func newTopicsCreateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create the topics that are missing, with the settings they need",
		Long: `Creates the topics that are missing, with the settings they need. Topics that exist are left as they are;
'fusebox topics check' says whether they are right. The names follow FUSEBOX_TOPIC_PREFIX and FUSEBOX_TOPIC_*.`,
		Example: "  FUSEBOX_BROKERS=kafka:9092 fusebox topics create --partitions 24",
		Args:    arguments(),
	}
	asJSON := addJSONFlag(cmd)
	var layout kafka.TopicLayout
	cmd.Flags().Int32Var(&layout.Partitions, "partitions", 0, fmt.Sprintf(
		"partitions of each topic; 0 is as many as topics that exist have, or else %d", kafka.DefaultPartitions))
	cmd.Flags().Int16Var(&layout.Replication, "replication", 0,
		"replicas of each partition; 0 is 3 where there are three brokers, or else 1")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if layout.Partitions < 0 || layout.Replication < 0 {
			return usageErrorf("--partitions %d --replication %d: want 1 or more",
				layout.Partitions, layout.Replication)
		}
		return createTopics(cmd, layout, *asJSON)
	}
	return cmd
}

func createTopics(cmd *cobra.Command, layout kafka.TopicLayout, asJSON bool) error {
	var topics []kafka.EnsuredTopic
	err := withTopics(cmd, func(ctx context.Context, c config, client *kgo.Client) (err error) {
		topics, err = kafka.EnsureTopics(ctx, client, c.topics(), layout)
		return err
	})
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(cmd.OutOrStdout(), topics)
	}
	var rows [][]string
	for _, t := range topics {
		done := "exists"
		if t.Created {
			done = "created"
		}
		rows = append(rows, []string{
			done, t.Name, fmt.Sprintf("partitions %d", t.Partitions), fmt.Sprintf("replicas %d", t.Replication),
		})
	}
	return writeTable(cmd.OutOrStdout(), rows, nil)
}

func newTopicsCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Compare the topics with what they should be",
		Long: `Says what differs between the topics and what they should be, with a command that mends it,
and which rights each part needs where the brokers ask for ACLs. Exit status 3 if anything differs.`,
		Example: "  FUSEBOX_BROKERS=kafka:9092 fusebox topics check",
		Args:    arguments(),
	}
	asJSON := addJSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return checkTopics(cmd, *asJSON) }
	return cmd
}

// topicsReport is what `fusebox topics check` found.
type topicsReport struct {
	Differences []kafka.TopicDifference `json:"differences"`
	ACLs        []kafka.ACL             `json:"acls"`
}

func checkTopics(cmd *cobra.Command, asJSON bool) error {
	found := topicsReport{Differences: []kafka.TopicDifference{}}
	err := withTopics(cmd, func(ctx context.Context, c config, client *kgo.Client) error {
		found.ACLs = kafka.ACLs(c.topics(), c.Group)
		differences, err := kafka.CheckTopics(ctx, client, c.topics())
		found.Differences = append(found.Differences, differences...)
		return err
	})
	if err != nil {
		return err
	}
	if asJSON {
		err = writeJSON(cmd.OutOrStdout(), found)
	} else {
		err = found.write(cmd.OutOrStdout())
	}
	if err == nil && len(found.Differences) > 0 {
		return foundProblems()
	}
	return err
}

func (r topicsReport) write(w io.Writer) error {
	p := paletteFor(w)
	var text strings.Builder
	for _, d := range r.Differences {
		fmt.Fprintf(&text, "%s: %s is %s, want %s: %s\n  mend: %s\n",
			p.bold(d.Topic), d.Setting, p.bad(d.Got), p.good(d.Want), d.Why, d.Mend)
	}
	if len(r.Differences) == 0 {
		text.WriteString("the topics are as they should be\n")
	}
	text.WriteString("\nrights that each part needs, where the brokers ask for ACLs:\n")
	if _, err := io.WriteString(w, text.String()); err != nil {
		return err
	}
	var rows [][]string
	for _, a := range r.ACLs {
		rows = append(rows, []string{"  " + a.Part, aclArguments(a)})
	}
	if err := writeTable(w, rows, nil); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\nas arguments of: kafka-acls.sh --bootstrap-server $FUSEBOX_BROKERS --add "+
		"--allow-principal User:<name>\n")
	return err
}

// aclArguments writes a right as arguments of Kafka's own tool.
func aclArguments(a kafka.ACL) string {
	var args []string
	for _, operation := range slices.Sorted(slices.Values(a.Operations)) {
		args = append(args, "--operation "+operation)
	}
	args = append(args, "--"+a.Resource+" "+a.Name)
	if a.Prefixed {
		args = append(args, "--resource-pattern-type prefixed")
	}
	return strings.Join(args, " ")
}

// withTopics does something with a client of the cluster that the environment names.
func withTopics(cmd *cobra.Command, do func(context.Context, config, *kgo.Client) error) error {
	c, err := loadClusterConfig()
	if err != nil {
		return err
	}
	c.oneShot = true
	ctx, cancel := context.WithTimeout(cmd.Context(), topicsTimeout)
	defer cancel()
	client, err := c.dial(ctx, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	return do(ctx, c, client)
}
