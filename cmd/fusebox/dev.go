package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/kafka"
)

// devPartitions is how many partitions the topics of `fusebox dev` get unless told otherwise.
const devPartitions = 4

// dev is everything in one process.
type dev struct {
	broker     string // Where clients join.
	asked      bool   // Somebody asked for that address.
	data       string // "" is a temporary directory.
	policy     string // "" is what the environment says.
	partitions int32
	demo       bool
	token      string // For overrides over HTTP; "" where the environment has one, or others reach it.

	out, errOut io.Writer
	log         *slog.Logger
	reloads     *slog.Logger // Tells of changes of the policy file, by default where log tells of faults alone.
}

func newDevCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run everything in one process, with a broker of its own: a first look, local work",
		Long: `Run a Kafka broker, the topics, the processor and its HTTP in one process. Any Kafka client can join the
broker, and emit, status, watch and override find it by themselves where it listens by default. With --data all is
kept: ended in any way, kill -9 too, and started again it goes on where it was. Not for production: the broker is one
that is made for tests, and what it writes outlives the process and not the machine.

With --demo simulated producers and routers work on a route whose answers go bad, again and again, and recover.`,
		Example: `  fusebox dev --demo
  fusebox dev --data ./fusebox-data --policy policies.yaml`,
		Args: arguments(),
	}
	var d dev
	flags := cmd.Flags()
	flags.StringVar(&d.broker, "broker", defaultBroker,
		"`address` at which Kafka clients join; without it another port where this one is taken")
	flags.StringVar(&d.data, "data", "", "`directory` that keeps everything (default: a temporary one)")
	flags.StringVar(&d.policy, "policy", "", "policy `file`, or builtin (default: FUSEBOX_POLICY_FILE, or builtin)")
	_ = cmd.RegisterFlagCompletionFunc("policy", completePolicies)
	flags.Int32Var(&d.partitions, "partitions", 0,
		fmt.Sprintf("partitions of each new topic (default %d)", devPartitions))
	flags.BoolVar(&d.demo, "demo", false, "simulate producers and routers on a route that goes bad and recovers")
	show := flags.Bool("demo-policy", false, "print the policy file of the demo, and end")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *show {
			_, err := cmd.OutOrStdout().Write(demoPolicy)
			return err
		}
		d.asked = flags.Changed("broker")
		if err := checkJoinable(d.broker); err != nil {
			return err
		}
		if d.partitions < 0 {
			return usageErrorf("--partitions %d: want 1 or more", d.partitions)
		}
		c, err := loadConfig()
		if err != nil {
			return err
		}
		d.reloads = c.logger(cmd.ErrOrStderr())
		if environment()["FUSEBOX_LOG_LEVEL"] == "" {
			c.LogLevel = slog.LevelWarn // What a newcomer has to see would scroll away.
		}
		d.out, d.errOut, d.log = cmd.OutOrStdout(), cmd.ErrOrStderr(), c.liveLogger(cmd.ErrOrStderr())
		return d.run(cmd.Context(), c)
	}
	return cmd
}

// run prepares the data directory and everything in it, runs until the context ends, and ends in the reverse order.
func (d *dev) run(ctx context.Context, c config) (err error) {
	policies, err := d.policies(&c)
	if err != nil {
		return err
	}
	web, err := listenWeb(c)
	if err != nil {
		return err
	}
	defer web.Close()
	if c.AdminToken == "" && isLoopback(web) {
		d.token = strings.ToLower(rand.Text()[:12])
		c.AdminToken = secret(d.token)
	}
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	listener, err := d.listen()
	if err != nil {
		return err
	}
	defer listener.Close()

	broker, err := startBroker(filepath.Join(d.data, "broker"), listener, d.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, broker.stop()) }()
	c.Brokers, c.DataDir = []string{broker.addr}, filepath.Join(d.data, "store")
	if err := d.createTopics(ctx, c); err != nil {
		return err
	}
	d.greet(broker.addr, web.Addr().String(), policies)
	d.warnAddress(broker.addr)
	return d.work(ctx, c, policies, web)
}

// work runs the processor with its HTTP, as `fusebox run` does, and perhaps the demo, which ends all if it fails.
func (d *dev) work(ctx context.Context, c config, policies *breaker.Policies, web net.Listener) error {
	registry := newRegistry()
	made := c.processor(policies, d.log, registry)
	made.NoneAhead = true // The broker keeps all offsets of a group from a restore while any transaction is open.
	loop, err := kafka.New(made)
	if err != nil {
		return &statusError{exitUsage, err}
	}
	p := newProcess(c, d.policyFile(c), policies, loop, d.log)
	p.reload.log = d.reloads
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	defer wg.Wait()
	if d.demo {
		wg.Go(func() { cancel(runDemo(ctx, d.out, c.topics(), c.clientOpts())) })
	}
	err = p.run(ctx, web, registry)
	cancel(err) // The demo cannot go on without the processor.
	return once(err, c.InstanceID)
}

// policies reads the policies to judge by: of the flag, of the environment, of the demo, or the built-in ones.
func (d *dev) policies(c *config) (*breaker.Policies, error) {
	if d.policy != "" {
		return usablePolicies(d.policy, "--policy "+d.policy)
	}
	if d.demo && c.PolicyFile == "" {
		return breaker.Read("demo_policy.yaml", demoPolicy)
	}
	return c.policies()
}

// policyFile returns the file from which policies reads, "" where that is none.
func (d *dev) policyFile(c config) string { return cmp.Or(d.policy, c.PolicyFile) }

// listenWeb listens for HTTP where the environment says, or else on a free port that nobody else can reach.
func listenWeb(c config) (net.Listener, error) {
	if environment()["FUSEBOX_HTTP_ADDR"] == "" {
		c.HTTPAddr = "127.0.0.1:0"
	}
	return c.listenHTTP()
}

// enter makes the data directory and holds it for this process alone. What it returns lets go of it, and removes it
// if it is a temporary one.
func (d *dev) enter() (leave func() error, err error) {
	temporary := d.data == ""
	if temporary {
		if d.data, err = os.MkdirTemp("", "fusebox-dev-"); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(d.data, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	lock := flock.New(filepath.Join(d.data, "dev.lock"))
	held, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", d.data, err)
	}
	if !held {
		return nil, usageErrorf("--data %s: another `fusebox dev` works there", d.data)
	}
	return func() error {
		err := lock.Unlock()
		if temporary {
			err = errors.Join(err, os.RemoveAll(d.data))
		}
		return err
	}, nil
}

// createTopics creates the topics that are missing: all at the first start, none later.
func (d *dev) createTopics(ctx context.Context, c config) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	client, err := kgo.NewClient(c.clientOpts()...)
	if err != nil {
		return fmt.Errorf("make a Kafka client: %w", err)
	}
	defer client.Close()
	found, err := kadm.NewClient(client).ListTopics(ctx, c.topics().Outcomes)
	if err != nil {
		return fmt.Errorf("ask the broker for its topics: %w", err)
	}
	layout := kafka.TopicLayout{Partitions: d.partitions}
	if layout.Partitions == 0 && !found.Has(c.topics().Outcomes) {
		layout.Partitions = devPartitions
	}
	_, err = kafka.EnsureTopics(ctx, client, c.topics(), layout)
	return err
}

// greet says what runs where, and what to try.
func (d *dev) greet(broker, web string, policies *breaker.Policies) {
	p := paletteFor(d.out)
	rows := [][]string{
		{"broker", broker + " (any Kafka client can join)"},
		{"http", "http://" + web + " (console; /v1 /metrics /readyz)"},
		{"policies", d.policyWords(policies)},
		{"data", d.data},
	}
	fmt.Fprintln(d.out, p.bold("fusebox dev")+": everything in one process, until it is stopped")
	if d.token != "" {
		rows = append(rows, []string{
			"admin token", d.token + " (for overrides in the console and over HTTP, this time)",
		})
	}
	for _, row := range table(rows, 0, func(_, column int, cell string) string {
		if column == 0 {
			return p.faint("  " + cell)
		}
		return cell
	}) {
		fmt.Fprintln(d.out, hang(row, widthOf(d.out)))
	}
	hint := program() + " "
	if broker != defaultBroker {
		hint = "FUSEBOX_BROKERS=" + broker + " " + hint
	}
	fmt.Fprintln(d.out, "try, in another terminal:")
	if !d.demo {
		fmt.Fprintf(d.out, "  %semit < outcomes.jsonl\n", hint)
	}
	fmt.Fprintf(d.out, "  %sstatus\n  %swatch\n\n", hint, hint)
}

// warnAddress says, last of all, that clients do not find the broker by themselves where nobody asked for that.
func (d *dev) warnAddress(broker string) {
	if d.asked || broker == d.broker {
		return
	}
	why := d.broker + " is taken by another program"
	if listener, err := net.Listen("tcp", d.broker); err == nil {
		listener.Close()
		why = "the broker listens where it did the last time on this data"
	}
	fmt.Fprintf(d.errOut, "%s\n\n", paletteFor(d.errOut).warn(hang(fmt.Sprintf(
		"%s: set FUSEBOX_BROKERS=%s for all other commands", why, broker), widthOf(d.errOut))))
}

// program returns how a user calls this program: by its name where that is found on the PATH, else as it was started.
func program() string {
	const name = "fusebox"
	if found, err := exec.LookPath(name); err == nil && sameFile(found, os.Args[0]) {
		return name
	}
	return os.Args[0]
}

// sameFile tells whether the program at a path is the one that was started as said.
func sameFile(path, started string) bool {
	if started, err := exec.LookPath(started); err == nil {
		a, err := os.Stat(path)
		b, other := os.Stat(started)
		return err == nil && other == nil && os.SameFile(a, b)
	}
	return false
}

func (d *dev) policyWords(policies *breaker.Policies) string {
	switch {
	case d.policy != "":
		return d.policy + ", version " + policies.Version
	case d.demo:
		return "those that `fusebox dev --demo-policy` prints, version " + policies.Version
	}
	return "version " + policies.Version
}
