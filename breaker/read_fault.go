package breaker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// mostFaults is how many faults of one file are reported.
const mostFaults = 1000

// Fault is something wrong in a policy file, where it is, and what would be right. Lines and columns count from 1, a
// column a character.
type Fault struct {
	File         string
	Line, Column int
	Message      string
}

// String returns the fault as file:line:column: message.
func (f Fault) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message)
}

// Faults are all that is wrong in a policy file, in the order of the file, the first thousand of them.
type Faults []Fault

// Error returns the faults, one a line.
func (f Faults) Error() string {
	var b strings.Builder
	for i, fault := range f {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(fault.String())
	}
	return b.String()
}

// sorted returns the faults in the order of the file, each once however often an alias repeats it.
func (f Faults) sorted() Faults {
	slices.SortStableFunc(f, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(f)
}

// fault notes what is wrong at a node.
func (r *parser) fault(at *yaml.Node, format string, args ...any) {
	r.faulty++
	if len(r.faults) < mostFaults {
		message := fmt.Sprintf(format, args...)
		r.faults = append(r.faults, Fault{r.file, max(at.Line, 1), max(at.Column, 1), message})
	}
}

// once notes that something of a name is there already, by the lines where names were first met.
func (r *parser) once(lines map[string]int, at *yaml.Node, what, name string) {
	if line := lines[name]; line > 0 && name != "" {
		r.fault(at, "%s %q is there twice, first in line %d; leave one of them, or give this one another name", what,
			shorten(name), line)
		return
	}
	lines[name] = at.Line
}
