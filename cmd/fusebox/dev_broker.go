package main

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
)

// devBroker is a Kafka broker in this process that keeps its data in a directory.
type devBroker struct {
	*kfake.Cluster
	addr string // Where clients join.
	mark string // The file that is there while the broker runs, and after it was killed.
}

// checkJoinable tells whether clients can join at an address.
func checkJoinable(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return usageErrorf("--broker %s: want host:port, such as %s", addr, defaultBroker)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return usageErrorf("--broker %s: want an address that clients can join, as it is told to them", addr)
	}
	return nil
}

// portFile keeps, in the data directory, an address that nobody asked for.
const portFile = "broker.addr"

// listen listens where clients are to join: where somebody asked for, or else where it did the last time on this data,
// at the default address, or at any free port of its host, whichever is the first to be free.
func (d *dev) listen() (net.Listener, error) {
	if d.asked {
		return listenFirst(d.broker)
	}
	host, _, _ := net.SplitHostPort(d.broker)
	addrs := []string{d.broker, net.JoinHostPort(host, "0")}
	kept, err := os.ReadFile(filepath.Join(d.data, portFile))
	if err == nil && checkJoinable(string(kept)) == nil {
		addrs = append([]string{string(kept)}, addrs...)
	}
	listener, err := listenFirst(addrs...)
	if err != nil {
		return nil, err
	}
	if addr := listener.Addr().String(); addr != d.broker {
		err = os.WriteFile(filepath.Join(d.data, portFile), []byte(addr), 0o600)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("keep the broker's address: %w", err), listener.Close())
	}
	return listener, nil
}

// listenFirst listens at the first address that is not taken.
func listenFirst(addrs ...string) (net.Listener, error) {
	for i, addr := range addrs {
		listener, err := net.Listen("tcp", addr)
		if err == nil {
			return listener, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) || i == len(addrs)-1 {
			return nil, fmt.Errorf("--broker %s: %w", addr, err)
		}
	}
	panic("listenFirst without an address")
}

// startBroker starts a broker on what a directory holds, or on nothing. After a kill it first takes back what the
// last one had begun and not finished.
func startBroker(dir string, listener net.Listener, log *slog.Logger) (*devBroker, error) {
	b := &devBroker{addr: listener.Addr().String(), mark: filepath.Join(dir, "running")}
	opts := []kfake.Opt{
		kfake.NumBrokers(1), kfake.ClusterID(newClusterID()), kfake.WithLogger(devLogger{log}),
		kfake.BrokerConfigs(map[string]string{"log.cleaner.backoff.ms": never}),
	}
	if err := b.prepare(dir, opts, log); err != nil {
		return nil, fmt.Errorf("prepare the broker's data in %s: %w", dir, err)
	}
	listen := func(string, string) (net.Listener, error) { return listener, nil }
	var err error
	if b.Cluster, err = kfake.NewCluster(append(opts, kfake.DataDir(dir), kfake.ListenFn(listen))...); err != nil {
		return nil, fmt.Errorf("start the broker on %s: %w", dir, err)
	}
	journal := &endJournal{dir: dir, log: log}
	b.Control(journal.before)
	return b, nil
}

// prepare brings the data into order and marks it as in use.
func (b *devBroker) prepare(dir string, opts []kfake.Opt, log *slog.Logger) error {
	if _, err := os.Stat(b.mark); err == nil {
		log.Info("the broker did not end cleanly the last time: what it had not finished is taken back", "data", dir)
		if err := takeBack(dir); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, journalName)); err != nil {
		return err
	}
	if err := renew(dir, opts); err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(b.mark, nil, 0o600))
}

// stop closes the broker, with all its data on disk.
func (b *devBroker) stop() error {
	b.Close()
	return os.Remove(b.mark)
}

// newClusterID returns an id in the form that Kafka's own have. A broker that has one already keeps it.
func newClusterID() string {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // Never fails.
	return base64.RawURLEncoding.EncodeToString(id)
}

// devLogger hands the broker's complaints on.
type devLogger struct{ log *slog.Logger }

// Logf implements kfake.Logger. That an end of a transaction took some milliseconds is no complaint: it is the price
// of the journal.
func (l devLogger) Logf(level kfake.LogLevel, format string, args ...any) {
	if level <= kfake.LogLevelWarn && !strings.HasPrefix(format, "txn: EndTxn slow") {
		l.log.Warn(fmt.Sprintf(format, args...), "from", "broker")
	}
}
