package client

// slot is what a gate knows of one circuit.
type slot struct{}
