// Package state keeps the loop's memory on disk: bytes by partition and circuit, and for each partition the position
// in the changelog up to which they are true. It knows no domain type and decides nothing.
//
// The store is a cache of the changelog in Kafka. It is written behind: Save puts the changes into memory and returns,
// and one goroutine, owned by the store, writes them. Only what Kafka has committed may be handed to Save, so the disk
// is never ahead of Kafka. Reads see what was saved, written or not.
//
// # What a crash leaves
//
// Everything is written in numbered transactions, one after the other, a partition's position after the values that it
// covers, and after those were synced to disk. A killed process leaves all transactions up to some number: its logs are
// memory maps, which the kernel keeps. A lost machine may leave a hole: Badger replays each of its logs on its own, so
// the newest may survive with a position in it while an older one, rotated out and so not covered by the sync, has lost
// its end. So may a disk that corrupts a log, as Badger cuts a log at its first bad entry and says nothing. The numbers
// show both: each transaction leaves a record of its own number, the records of everything that a log can still hold
// are kept, and Open discards a store with a gap. What is served is always what some transaction left, whole; a missing
// end is only an older position, from which the changelog is read again.
//
// # What goes wrong, and what becomes of it
//
// A store that is corrupt, of another cluster or topic, of another schema version, or that failed a read in its last
// life is discarded by Open, with the reason in the log, and opened empty. A store that another process holds is a
// LockedError. While the disk is full or refuses writes, changes stay in memory, one for each circuit; the attempts go
// on, further and further apart up to ten seconds, and Stats tells. Badger writes to memory maps, where a full disk is
// a fatal signal and no error, so the store asks for the room before each transaction and each compaction, and does
// not begin what might not fit.
//
// It does not expire anything: whether a circuit is forgotten is for its owner to say.
package state
