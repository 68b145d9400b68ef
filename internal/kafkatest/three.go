package kafkatest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
)

// standBehindProxy puts a proxy before the broker, whose address it tells its clients from then on.
func (b *Broker) standBehindProxy(t testing.TB) {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	b.proxy = toxiproxy.NewProxy(server, b.name, "127.0.0.1:0", b.host)
	if err := b.proxy.Start(); err != nil {
		t.Fatalf("start the proxy of %s: %v", b.name, err)
	}
	t.Cleanup(b.proxy.Stop)
	b.Addr = b.proxy.Listen
}

// hangUp refuses connections to a broker that has ended, as its own host would: a proxy that takes them and closes them
// looks to a client as a broker that wants TLS.
func (b *Broker) hangUp() {
	if b.proxy != nil {
		b.proxy.Stop()
	}
}

// answer ends hangUp.
func (b *Broker) answer(t testing.TB) {
	t.Helper()
	if b.proxy == nil {
		return
	}
	if err := b.proxy.Start(); err != nil {
		t.Fatalf("start the proxy of %s again: %v", b.name, err)
	}
}

// Slow delays each answer of the broker to its clients, until the function returned is called.
func (b *Broker) Slow(t testing.TB, delay, jitter time.Duration) (end func()) {
	t.Helper()
	return b.spoil(t, fmt.Sprintf(`{"name":"slow","type":"latency","stream":"downstream",
		"attributes":{"latency":%d,"jitter":%d}}`, delay.Milliseconds(), jitter.Milliseconds()))
}

// Silence swallows what clients send to the broker: connections are made and stay, and nothing comes back, until the
// function returned is called. The connections are closed then.
func (b *Broker) Silence(t testing.TB) (end func()) {
	t.Helper()
	return b.spoil(t, `{"name":"silence","type":"timeout","stream":"upstream","attributes":{"timeout":0}}`)
}

func (b *Broker) spoil(t testing.TB, toxic string) (end func()) {
	t.Helper()
	added, err := b.proxy.Toxics.AddToxicJson(strings.NewReader(toxic))
	if err != nil {
		t.Fatalf("spoil the way to %s: %v", b.name, err)
	}
	return func() {
		if err := b.proxy.Toxics.RemoveToxic(context.Background(), added.Name); err != nil {
			t.Errorf("mend the way to %s: %v", b.name, err)
		}
	}
}

// CutOff takes the broker from the others. Its clients still reach it.
func (b *Broker) CutOff(t testing.TB) { docker(t, "network", "disconnect", b.between, b.name) }

// Rejoin ends CutOff.
func (b *Broker) Rejoin(t testing.TB) {
	docker(t, "network", "connect", "--alias", b.alias, b.between, b.name)
}

// Killer returns a function that ends the broker as Kill does, within a millisecond: it signals the process itself,
// which takes the rights of root. The error says why that cannot be had.
func (b *Broker) Killer(t testing.TB) (kill func(), err error) {
	t.Helper()
	out, err := exec.Command("docker", "inspect", "--format", "{{.State.Pid}}", b.name).Output()
	if err != nil {
		return nil, fmt.Errorf("find the process of %s: %w", b.name, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		return nil, fmt.Errorf("find the process of %s: %w", b.name, err)
	}
	process, err := os.FindProcess(pid)
	if err == nil {
		err = process.Signal(syscall.Signal(0))
	}
	if err != nil {
		return nil, fmt.Errorf("signal the process of %s: %w", b.name, err)
	}
	return func() {
		if err := process.Kill(); err != nil {
			t.Errorf("kill %s: %v", b.name, err)
		}
		b.hangUp()
	}, nil
}

// WaitInSync waits until every partition of every topic has a leader and all its replicas in sync.
func (k *Kafka) WaitInSync(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	admin := kadm.NewClient(k.Client(t))
	defer admin.Close()
	until(ctx, t, func() (bool, error) {
		once, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		// Asked for what we are authorized to do, the client does not answer from what it knows already.
		found, err := admin.Metadata(kadm.WithAuthorizedOps(once))
		if err != nil {
			return false, err
		}
		for _, topic := range found.Topics {
			for _, p := range topic.Partitions {
				if p.Leader < 0 || len(p.ISR) < len(p.Replicas) {
					return false, nil
				}
			}
		}
		return true, nil
	})
}
