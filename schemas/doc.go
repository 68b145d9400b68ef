// Package schemas is the wire: the records that producers, routers, operators and Fusebox itself exchange over
// Kafka, how they are read and written as JSON, and the JSON Schemas that describe them.
//
// It promises that a record is either read whole or refused with an error that says what is wrong and where, that
// unknown fields pass, and that every number is exact: money is held in millionths and weights in thousandths.
// It does not know topics, partitions in use, policies or time: it reads no clock and does no I/O.
package schemas
