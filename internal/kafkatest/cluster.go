package kafkatest

import (
	"context"
	"net"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Cluster is a kfake cluster that lives as long as the test. Everything that kfake offers is there too, its Fault and
// ControlKey among it.
type Cluster struct {
	*kfake.Cluster
	Endpoint
	dial func(ctx context.Context, network, address string) (net.Conn, error) // Nil on the loopback interface.
}

// New returns a cluster of three brokers on a virtual network, for a test inside a synctest bubble: call it inside,
// and build with the tag synctests. Options come after its own, so that kfake.Ports(9092) makes it a single broker.
func New(t testing.TB, opts ...kfake.Opt) *Cluster {
	t.Helper()
	network := new(kfake.VirtualNetwork)
	own := []kfake.Opt{kfake.ListenFn(network.Listen), kfake.Ports(9092, 9093, 9094)}
	c := begin(t, append(own, opts...), kgo.Dialer(network.DialContext))
	c.dial = network.DialContext
	return c
}

// NewLoopback returns a cluster of one broker on the loopback interface, for benchmarks and for other processes.
func NewLoopback(t testing.TB, opts ...kfake.Opt) *Cluster {
	t.Helper()
	return begin(t, append([]kfake.Opt{kfake.NumBrokers(1)}, opts...))
}

func begin(t testing.TB, opts []kfake.Opt, reach ...kgo.Opt) *Cluster {
	t.Helper()
	fake, err := kfake.NewCluster(opts...)
	if err != nil {
		t.Fatalf("new kfake cluster: %v", err)
	}
	t.Cleanup(fake.Close)
	seeds := fake.ListenAddrs()
	return &Cluster{Cluster: fake, Endpoint: Endpoint{
		Seeds:       seeds,
		options:     append(reach, kgo.SeedBrokers(seeds...)),
		replication: -1,
	}}
}
