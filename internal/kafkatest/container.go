package kafkatest

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	tcnetwork "github.com/testcontainers/testcontainers-go/network"
	"github.com/testcontainers/testcontainers-go/wait"
	"github.com/twmb/franz-go/pkg/kgo"
)

// startLimit is how long a broker may take to start, or to answer again.
const startLimit = 3 * time.Minute

// Broker is a broker of Apache Kafka in a container, controller too. It lives as long as the test.
type Broker struct {
	// Addr is where clients on this machine reach it, before and after a restart.
	Addr string

	name    string // Of the container.
	host    string // The address of its published port, which is Addr unless a proxy stands before it.
	alias   string // Its name among the brokers.
	between string // The network between the brokers.
	proxy   *toxiproxy.Proxy
}

// Kafka is a cluster of such brokers.
type Kafka struct {
	Endpoint

	// Brokers are in the order of their node ids, which begin with 1.
	Brokers []*Broker
}

// Start returns a cluster of one broker of Apache Kafka. Its need is kafka, see Require.
func Start(t testing.TB) *Kafka {
	t.Helper()
	Require(t, "kafka")
	return startCluster(t, 1)
}

// StartThree returns a cluster of three brokers, replication 3 and min.insync.replicas 2, with a proxy before each and
// a network between them that can be cut: see Broker.Slow, Broker.Silence and Broker.CutOff. Its need is kafka.
func StartThree(t testing.TB) *Kafka {
	t.Helper()
	Require(t, "kafka")
	return startCluster(t, 3)
}

func startCluster(t testing.TB, size int) *Kafka {
	t.Helper()
	withoutReaper()
	k := &Kafka{Endpoint: Endpoint{replication: int16(size)}}
	var networks []string
	if size > 1 {
		networks = []string{newNetwork(t)} // Ports are published by way of this one, so that the other may be cut.
	}
	between := newNetwork(t)
	networks = append(networks, between)
	for i, port := range freePorts(t, size) {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		b := &Broker{
			Addr: addr, host: addr, alias: alias(i), between: between,
			name: fmt.Sprintf("fusebox-test-kafka-%d-%d", os.Getpid(), port),
		}
		if size > 1 {
			b.standBehindProxy(t)
		}
		k.Brokers, k.Seeds = append(k.Brokers, b), append(k.Seeds, b.Addr)
	}
	k.options = []kgo.Opt{kgo.SeedBrokers(k.Seeds...)}
	errs := make([]error, size)
	var wg sync.WaitGroup
	for i := range k.Brokers {
		wg.Go(func() { errs[i] = k.run(t, i, networks) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("start broker %d of %d: %v", i+1, size, err)
		}
	}
	return k
}

func newNetwork(t testing.TB) string {
	t.Helper()
	made, err := tcnetwork.New(t.Context())
	testcontainers.CleanupNetwork(t, made)
	if err != nil {
		t.Fatalf("create a network for brokers: %v", err)
	}
	return made.Name
}

// run makes the container of broker i, and sees to it that it is removed, started or not. Its name among the brokers is
// known in the last network alone: they must not find another way where that is cut.
func (k *Kafka) run(t testing.TB, i int, networks []string) error {
	b := k.Brokers[i]
	host, port, err := net.SplitHostPort(b.host)
	if err != nil {
		return err
	}
	publish := network.PortMap{network.MustParsePort("9092/tcp"): {{
		HostIP: netip.MustParseAddr(host), HostPort: port,
	}}}
	options := []testcontainers.ContainerCustomizer{
		testcontainers.WithName(b.name),
		testcontainers.WithEnv(k.settings(i)),
		testcontainers.WithExposedPorts("9092/tcp"),
		testcontainers.WithHostConfigModifier(func(hc *container.HostConfig) { hc.PortBindings = publish }),
		testcontainers.WithWaitStrategyAndDeadline(startLimit, wait.ForLog("Kafka Server started").
			WithStartupTimeout(startLimit).WithPollInterval(50*time.Millisecond)),
	}
	for _, name := range networks {
		known := b.alias
		if name != b.between {
			known += "-outside"
		}
		options = append(options, tcnetwork.WithNetworkName([]string{known}, name))
	}
	c, err := testcontainers.Run(t.Context(), Image(), options...)
	testcontainers.CleanupContainer(t, c, testcontainers.StopTimeout(0))
	t.Cleanup(func() {
		if t.Failed() && c != nil {
			t.Logf("the last lines of broker %d:\n%s", i+1, docker(t, "logs", "--tail", "20", b.name))
		}
	})
	return err
}

// alias is the name of broker i among the brokers.
func alias(i int) string { return fmt.Sprintf("kafka%d", i+1) }

// settings returns the environment of broker i. A setting drops the image's own file, so it is the whole set.
// Listeners: HOST is published, INTERNAL is between brokers.
func (k *Kafka) settings(i int) map[string]string {
	size, isr := len(k.Brokers), (len(k.Brokers)+1)/2
	advertised := "HOST://" + k.Brokers[i].Addr + ",INTERNAL://" + alias(i) + ":19092"
	voters := make([]string, size)
	for j := range voters {
		voters[j] = fmt.Sprintf("%d@%s:9093", j+1, alias(j))
	}
	return map[string]string{
		"CLUSTER_ID":                                     "5L6g3nShT-eMCtK--X86sw",
		"KAFKA_HEAP_OPTS":                                "-Xms256m -Xmx256m",
		"KAFKA_NODE_ID":                                  strconv.Itoa(i + 1),
		"KAFKA_PROCESS_ROLES":                            "broker,controller",
		"KAFKA_CONTROLLER_QUORUM_VOTERS":                 strings.Join(voters, ","),
		"KAFKA_CONTROLLER_LISTENER_NAMES":                "CONTROLLER",
		"KAFKA_INTER_BROKER_LISTENER_NAME":               "INTERNAL",
		"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP":           "CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT,HOST:PLAINTEXT",
		"KAFKA_LISTENERS":                                "HOST://:9092,INTERNAL://:19092,CONTROLLER://:9093",
		"KAFKA_ADVERTISED_LISTENERS":                     advertised,
		"KAFKA_LOG_DIRS":                                 "/var/lib/kafka/data",
		"KAFKA_AUTO_CREATE_TOPICS_ENABLE":                "false",
		"KAFKA_DEFAULT_REPLICATION_FACTOR":               strconv.Itoa(size),
		"KAFKA_MIN_INSYNC_REPLICAS":                      strconv.Itoa(isr),
		"KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR":         strconv.Itoa(size),
		"KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS":             "5",
		"KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": strconv.Itoa(size),
		"KAFKA_TRANSACTION_STATE_LOG_MIN_ISR":            strconv.Itoa(isr),
		"KAFKA_TRANSACTION_STATE_LOG_NUM_PARTITIONS":     "5",
		"KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS":         "0",
		// With the defaults a broker that was killed cannot register again for nine seconds.
		"KAFKA_BROKER_SESSION_TIMEOUT_MS":    "2000",
		"KAFKA_BROKER_HEARTBEAT_INTERVAL_MS": "500",
		// With the default a follower that stands still keeps what is written from readers for half a minute.
		"KAFKA_REPLICA_LAG_TIME_MAX_MS": "5000",
	}
}

// Kill ends the broker with SIGKILL.
func (b *Broker) Kill(t testing.TB) {
	docker(t, "kill", "--signal", "KILL", b.name)
	b.hangUp()
}

// Stop ends the broker with SIGTERM and waits for it.
func (b *Broker) Stop(t testing.TB) {
	docker(t, "stop", "--time", "60", b.name)
	b.hangUp()
}

// Pause stops the broker's processes where they are. Its connections stay open and silent. On a busy machine the kernel
// now and then does not get all of them stopped in the time that it is given, and none is; so it is asked again.
func (b *Broker) Pause(t testing.TB) {
	const tries = 5
	for range tries - 1 {
		if exec.Command("docker", "pause", b.name).Run() == nil {
			return
		}
	}
	docker(t, "pause", b.name)
}

// Unpause lets them go on.
func (b *Broker) Unpause(t testing.TB) { docker(t, "unpause", b.name) }

// Start starts a broker again that was killed or stopped. It does not wait until it serves, see Kafka.WaitReady.
func (b *Broker) Start(t testing.TB) {
	docker(t, "wait", b.name) // Docker may not have noticed yet that it ended, and would leave it so.
	docker(t, "start", b.name)
	b.answer(t)
}

// WaitReady waits until the cluster answers, from any of its brokers.
func (k *Kafka) WaitReady(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	client := k.Client(t)
	until(ctx, t, func() (bool, error) {
		once, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		err := client.Ping(once)
		return err == nil, err
	})
}

// docker runs the docker command and returns what it printed.
func docker(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.Command("docker", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("docker %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// freePorts returns ports of the loopback interface that nobody listens on. A broker must know its port before it
// starts, as it tells it to clients. The ports are held together, so that they differ.
func freePorts(t testing.TB, n int) []int {
	t.Helper()
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatalf("find a free port: %v", err)
		}
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports
}

// withoutReaper switches off the helper container of testcontainers before its first use. Its image is one more that
// must be had, and each container here is removed at the end of its test.
var withoutReaper = sync.OnceFunc(func() {
	if _, set := os.LookupEnv("TESTCONTAINERS_RYUK_DISABLED"); !set {
		os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
	}
})
