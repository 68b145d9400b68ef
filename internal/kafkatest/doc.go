// Package kafkatest gives tests a Kafka to talk to.
//
// New is kfake on a virtual network: brokers and clients of one process, joined by pipes, so that a test inside a
// testing/synctest bubble runs in virtual time. Such tests carry the build tag synctests. NewLoopback is the same
// on the loopback interface, for benchmarks and for programs of other processes. Start and StartThree are Apache
// Kafka itself in containers, with brokers that can be killed, paused and started again.
//
// All three are an Endpoint: options for clients, topics, records in, committed records out. Cluster can also spoil
// single requests, see FailEnd, FailProduce, Evict and Fence.
//
// Require and Shared skip a test when what it needs is not there, with one line that says so, or fail it where
// FUSEBOX_TEST_REQUIRE names the need. What kfake does not do: LogAppendTime as a topic's setting, throttling,
// replication lag. Those belong to tests on Apache Kafka.
package kafkatest
