// Package kafka is the loop: it polls outcomes and signals, steps them through processor.Partition, and publishes
// what comes of them in one Kafka transaction with the offsets that it read.
package kafka
