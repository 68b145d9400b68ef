// Package audit recomputes what a processor must have published, from the outcomes, signals and policies on the log.
//
// Replay takes the inputs of a partition in the order in which they were handled. Audit lets the core handle them so,
// and compares what comes of it with the published transitions. It reads nothing itself: it is handed records as it
// asks for them, and keeps a bounded number.
package audit
