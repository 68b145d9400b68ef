package kafkatest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// EndFault is a way in which the end of a transaction goes wrong. The zero value is the worst one: it took effect, and
// the connection broke before the answer.
type EndFault struct {
	// TxnID is the transactional id whose commits are spoiled; empty means any.
	TxnID string
	// Lost means that the request does not take effect.
	Lost bool
	// Err is the answer; nil closes the connection without one. A client asks again then, by itself.
	Err *kerr.Error
	// Times is how many requests are spoiled, one by default. A repeat of a spoiled request counts.
	Times int
}

var errCut = errors.New("connection cut by the test")

// FailEnd spoils the next commits of transactions; aborts go through. The function returned says how many requests
// were spoiled so far.
func (c *Cluster) FailEnd(t testing.TB, f EndFault) (spoiled func() int) {
	t.Helper()
	var hits atomic.Int64
	var passing atomic.Pointer[kmsg.EndTxnRequest]
	own, times, ctx := c.Client(t), int64(max(f.Times, 1)), t.Context()
	c.ControlKey(int16(kmsg.EndTxn), func(asked kmsg.Request) (kmsg.Response, error, bool) {
		request := asked.(*kmsg.EndTxnRequest)
		if !f.matches(request) || sameEnd(request, passing.Load()) || hits.Load() >= times {
			return nil, nil, false
		}
		c.KeepControl()
		hits.Add(1)
		if !f.Lost {
			// kfake cannot be asked to do its work and answer otherwise. So the same request comes a second
			// time, from a client of ours, while this one waits; that one takes effect. Where it is refused, so
			// is this one, and nothing is spoiled.
			var refused error
			passing.Store(request)
			c.SleepControl(func() { refused = repeatEnd(ctx, own, *request) })
			passing.Store(nil)
			if refused != nil {
				hits.Add(-1)
				return nil, nil, false
			}
		}
		if f.Err == nil {
			return nil, errCut, true
		}
		answer := request.ResponseKind().(*kmsg.EndTxnResponse)
		answer.ErrorCode = f.Err.Code
		return answer, nil, true
	})
	return func() int { return int(hits.Load()) }
}

func (f EndFault) matches(r *kmsg.EndTxnRequest) bool {
	return r.Commit && (f.TxnID == "" || f.TxnID == r.TransactionalID)
}

// sameEnd tells whether b, which may be nil, asks for the end of the same transaction as a.
func sameEnd(a, b *kmsg.EndTxnRequest) bool {
	return b != nil && a.TransactionalID == b.TransactionalID &&
		a.ProducerID == b.ProducerID && a.ProducerEpoch == b.ProducerEpoch
}

func repeatEnd(ctx context.Context, own *kgo.Client, request kmsg.EndTxnRequest) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer, err := request.RequestWith(ctx, own)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(answer.ErrorCode)
}

// FailProduce answers the next times produce requests for a topic with an error; a negative number means all of them
// until Remove. The records are not written, unless the error is one that a broker gives after it wrote them, see
// kfake.Fault.
func (c *Cluster) FailProduce(topic string, err *kerr.Error, times int) *kfake.FaultHandle {
	return c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: topic, Err: err, Count: times})
}

// Evict removes the member with this client id from a group, as the coordinator would whose heartbeats stopped coming.
// The member learns of it from the answer to its next heartbeat or commit.
func (c *Cluster) Evict(t testing.TB, group, clientID string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Group = group
	if info := c.GroupInfo(group); info != nil {
		for _, m := range info.Members {
			if m.ClientID == clientID {
				leave.Members = append(leave.Members, kmsg.LeaveGroupRequestMember{MemberID: m.MemberID})
			}
		}
	}
	if len(leave.Members) == 0 {
		t.Fatalf("evict: group %s has no member of client id %s", group, clientID)
	}
	answer, err := leave.RequestWith(ctx, c.Client(t))
	if err == nil {
		err = kerr.ErrorForCode(answer.ErrorCode)
	}
	if err != nil {
		t.Fatalf("evict %s from group %s: %v", clientID, group, err)
	}
}

// Fence takes a transactional id over, as a second process with the same id would: an open transaction is aborted, and
// its producer can write nothing more.
func (c *Cluster) Fence(t testing.TB, txnID string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	take := kmsg.NewPtrInitProducerIDRequest()
	take.TransactionalID = &txnID
	take.TransactionTimeoutMillis = 60_000
	answer, err := take.RequestWith(ctx, c.Client(t))
	if err == nil {
		err = kerr.ErrorForCode(answer.ErrorCode)
	}
	if err != nil {
		t.Fatalf("fence transactional id %s: %v", txnID, err)
	}
}
