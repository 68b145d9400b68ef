package kafkatest

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Line is the way of one process to the cluster, which can be held, cut and made to lose answers. What is sent while it
// is held arrives when it is released, though its sender may have given up by then: a process that was stopped and
// wakes up, or a switch that kept packets.
type Line struct {
	cluster *Cluster

	mu    sync.Mutex
	held  chan struct{} // Closed by Release; nil where the line is not held.
	dead  bool
	wires map[*wire]bool
	keys  []kmsg.Key // Whose answers are lost.
	lose  int
	lost  int
}

// What a client is told are the errors of a real network: it asks again after a while for those alone.
var (
	errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	errReset   = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
)

// Line returns a line of its own for one process. The cluster must be one of New.
func (c *Cluster) Line() *Line { return &Line{cluster: c, wires: map[*wire]bool{}} }

// Opts returns the options of a client that reaches the cluster by this line.
func (l *Line) Opts(more ...kgo.Opt) []kgo.Opt {
	return l.cluster.Opts(append([]kgo.Opt{kgo.Dialer(l.dial)}, more...)...)
}

// Hold keeps all that goes over the line, in both directions.
func (l *Line) Hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = make(chan struct{})
	}
}

// Release lets all go on that was kept, in its order.
func (l *Line) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		return
	}
	close(l.held)
	l.held = nil
	for w := range l.wires {
		go w.deliver()
	}
}

// Reset breaks all connections, as a load balancer does that is restarted. New ones can be made.
func (l *Line) Reset() {
	l.mu.Lock()
	wires := l.wires
	l.wires = map[*wire]bool{}
	l.mu.Unlock()
	for w := range wires {
		w.breaks()
	}
}

// Cut ends the line for good: the process at its end is as good as killed.
func (l *Line) Cut() {
	l.mu.Lock()
	l.dead = true
	l.mu.Unlock()
	l.Reset()
	l.Release()
}

// Lose breaks the connection in place of the answer to each of the next requests of these keys. The requests take
// effect.
func (l *Line) Lose(times int, keys ...kmsg.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose, l.keys = times, keys
}

// Lost returns how many answers were lost so far.
func (l *Line) Lost() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

func (l *Line) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if held, dead := l.state(); dead {
		return nil, errRefused
	} else if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	conn, err := l.cluster.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	w := &wire{Conn: conn, line: l, closed: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		conn.Close()
		return nil, errRefused
	}
	l.wires[w] = true
	return w, nil
}

func (l *Line) state() (held chan struct{}, dead bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held, l.dead
}

// dooms tells whether the answer to a request is to be lost.
func (l *Line) dooms(request []byte) bool {
	if len(request) < 6 {
		return false
	}
	key := kmsg.Key(int16(request[4])<<8 | int16(request[5]))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lose == 0 || !slices.Contains(l.keys, key) {
		return false
	}
	l.lose--
	return true
}

// wire is one connection of a line.
type wire struct {
	net.Conn
	line   *Line
	closed chan struct{} // By the client.
	once   sync.Once

	mu       sync.Mutex
	kept     []byte // Written while the line was held.
	busy     bool   // What was kept is being delivered.
	doomed   bool   // The next answer is lost.
	deadline time.Time
}

// flight is how long a request is on its way. Were it nothing, virtual time would stand still for a client that asks
// without a pause, as franz-go does for the 10 ms before it minds that a partition was moved.
const flight = 50 * time.Microsecond

func (w *wire) Write(b []byte) (int, error) {
	time.Sleep(flight)
	doomed := w.line.dooms(b)
	held, _ := w.line.state()
	w.mu.Lock()
	w.doomed = w.doomed || doomed
	if held != nil || w.busy {
		w.kept = append(w.kept, b...)
		w.mu.Unlock()
		return len(b), nil
	}
	w.mu.Unlock()
	return w.Conn.Write(b)
}

// deliver sends what was kept, and closes the connection if the client has closed its end meanwhile.
func (w *wire) deliver() {
	w.mu.Lock()
	if w.busy {
		w.mu.Unlock()
		return
	}
	w.busy = true
	for len(w.kept) > 0 {
		kept := w.kept
		w.kept = nil
		w.mu.Unlock()
		_ = w.Conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, err := w.Conn.Write(kept)
		w.mu.Lock()
		if err != nil {
			break
		}
	}
	w.busy = false
	w.mu.Unlock()
	select {
	case <-w.closed:
		w.breaks()
	default:
	}
}

func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	w.mu.Lock()
	doomed, deadline := w.doomed, w.deadline
	w.mu.Unlock()
	if doomed && err == nil {
		w.line.mu.Lock()
		w.line.lost++
		w.line.mu.Unlock()
		w.breaks()
		return 0, errReset
	}
	held, _ := w.line.state()
	if held == nil {
		return n, err
	}
	var late <-chan time.Time
	if !deadline.IsZero() {
		late = time.After(time.Until(deadline))
	}
	select {
	case <-held:
		return n, err
	case <-late:
		return 0, os.ErrDeadlineExceeded
	case <-w.closed:
		return 0, net.ErrClosed
	}
}

// SetReadDeadline bounds reads, those of a line that is held too.
func (w *wire) SetReadDeadline(t time.Time) error {
	w.mu.Lock()
	w.deadline = t
	w.mu.Unlock()
	return w.Conn.SetReadDeadline(t)
}

// SetDeadline bounds reads and writes.
func (w *wire) SetDeadline(t time.Time) error {
	return errors.Join(w.SetReadDeadline(t), w.SetWriteDeadline(t))
}

// Close ends the connection, where the line is held only once what was kept is delivered.
func (w *wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	held, _ := w.line.state()
	w.mu.Lock()
	waits := held != nil && len(w.kept) > 0 || w.busy
	w.mu.Unlock()
	if !waits {
		w.breaks()
	}
	return nil
}

// breaks ends the connection now.
func (w *wire) breaks() {
	w.once.Do(func() { close(w.closed) })
	w.line.mu.Lock()
	delete(w.line.wires, w)
	w.line.mu.Unlock()
	w.Conn.Close()
}
