// Package kafka is the loop: it polls outcomes and signals, steps them through processor.Partition, and publishes what
// comes of them in one Kafka transaction with the offsets that it read.
//
// A Loop is the processor of one process. Its workers are members of one consumer group, each a goroutine with a
// session and a transactional id of its own; whatever a worker owns, nobody else touches. A worker's life is a row of
// turns: poll, take note of what came in the inbox, handle, commit. A partition that is assigned is restored by a
// goroutine of its own, while the others work, and begins when its progress record and the group's offsets agree.
//
// It promises that each outcome is counted once, or told apart, whatever crashes, and that a worker which lost a
// partition publishes nothing more for it. The files follow a record's way: session, poll, merge, handle, place (and
// forward, deadletter), commit (and publisher), lookup where a commit was not confirmed, settle.
//
// It decides nothing about circuits: that is the core's. It does not make the topics: see EnsureTopics.
package kafka
