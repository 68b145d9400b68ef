// Package examples runs the programs in the folders below it, in its tests: routers and producers in several languages,
// each against a broker and a processor of its own.
package examples
