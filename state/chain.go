package state

import (
	"encoding/binary"
	"errors"

	"github.com/dgraph-io/badger/v4"
)

// chain is the numbers of the transactions whose records are kept: those that one of Badger's logs may still hold.
// There are at most four logs of a memtable's size; the horizon is five, and sizes are reckoned low.
type chain struct {
	next    uint64  // the number of the next transaction
	sizes   []int64 // of the kept ones, which end at next-1
	total   int64   // the sum of the sizes
	horizon int64
}

// maxPrune bounds the records that one transaction deletes.
const maxPrune = 16

// prunable returns how many of the oldest records the next transaction deletes.
func (c *chain) prunable() int {
	n, rest := 0, c.total
	for n < min(maxPrune, len(c.sizes)) && rest-c.sizes[n] > c.horizon {
		rest -= c.sizes[n]
		n++
	}
	return n
}

// commit notes that the next transaction is written, with the records that it deleted.
func (c *chain) commit(pruned int, size int64) {
	for _, old := range c.sizes[:pruned] {
		c.total -= old
	}
	c.sizes = append(c.sizes[pruned:], size)
	c.total += size
	c.next++
}

// batch cuts a row of changes into numbered transactions, as large as Badger takes them. Each is whole on disk or not
// there at all, and none is there without those before it.
type batch struct {
	store  *Store
	db     *badger.DB
	txn    *badger.Txn // nil between two transactions
	size   int64
	pruned int
}

// put adds a change; a nil value deletes. Key and value must not change until flush.
func (b *batch) put(key, value []byte) error {
	if b.txn == nil {
		if err := b.begin(); err != nil {
			return err
		}
	}
	err := b.change(key, value)
	if !errors.Is(err, badger.ErrTxnTooBig) {
		return err
	}
	if err := b.flush(); err != nil {
		return err
	}
	if err := b.begin(); err != nil {
		return err
	}
	return b.change(key, value)
}

func (b *batch) begin() error {
	c := &b.store.chain
	b.txn, b.size, b.pruned = b.db.NewTransaction(true), 32, c.prunable()
	floor := c.next - uint64(len(c.sizes)) + uint64(b.pruned)
	for number := floor - uint64(b.pruned); number < floor; number++ {
		if err := b.change(chainKey(number), nil); err != nil {
			return err
		}
	}
	return b.change(chainKey(c.next), binary.BigEndian.AppendUint64(nil, floor))
}

func (b *batch) change(key, value []byte) error {
	var err error
	if value == nil {
		err = b.txn.Delete(key)
	} else {
		err = b.txn.Set(key, value)
	}
	if err == nil {
		b.size += int64(len(key)+len(value)) + 16
	}
	return err
}

// flush writes the transaction that was begun, if there is the room for it.
func (b *batch) flush() error {
	if b.txn == nil {
		return nil
	}
	defer b.discard()
	// What is left of the log in use, its table, and the table of the log before it.
	if err := b.store.room(3*b.store.options.MemTableBytes + slack); err != nil {
		return err
	}
	if err := b.txn.Commit(); err != nil {
		return err
	}
	b.store.chain.commit(b.pruned, b.size)
	return nil
}

// discard forgets the transaction that was begun, if any.
func (b *batch) discard() {
	if b.txn != nil {
		b.txn.Discard()
		b.txn = nil
	}
}
