// Package processor is one partition's circuits and the one-way path of a record through them: is it to be counted,
// what do the windows hold then, what do the rules say of that, what does the breaker make of it.
//
// It promises that the same records in the same order give the same results, in one go or with a stop, a restore and a
// change of process between any two of them. It does no I/O, reads no clock and starts no goroutine. A Partition is
// not safe for concurrent use.
package processor
