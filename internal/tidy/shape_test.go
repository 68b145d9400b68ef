package tidy

import (
	"go/ast"
	"go/format"
	"go/token"
	"strings"
	"unicode/utf8"
)

const (
	maxFunction = 70  // lines
	maxFile     = 400 // lines
	maxLine     = 120 // columns, a tab is four
	maxNesting  = 4   // blocks of control flow inside a function
)

// gofmt finds files that gofmt would change.
func gofmt(s *source) []fault {
	want, err := format.Source([]byte(s.body))
	if err != nil {
		return []fault{{s.path, 1, "gofmt", err.Error()}}
	}
	if string(want) == s.body {
		return nil
	}
	line := 1
	for i := range min(len(want), len(s.body)) {
		if want[i] != s.body[i] {
			break
		}
		if want[i] == '\n' {
			line++
		}
	}
	return []fault{{s.path, line, "gofmt", "gofmt writes it otherwise"}}
}

// lengths finds files, functions and lines that are too long.
func lengths(s *source) []fault {
	var faults []fault
	if n := strings.Count(s.body, "\n"); n > maxFile {
		faults = append(faults, s.at(s.file.Package, "length", "the file has %d lines, at most %d", n, maxFile))
	}
	for i, line := range strings.Split(s.body, "\n") {
		if n := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t"); n > maxLine {
			at := s.set.File(s.file.Package).LineStart(i + 1)
			faults = append(faults, s.at(at, "length", "the line has %d columns, at most %d", n, maxLine))
		}
	}
	for _, decl := range s.file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if n := s.set.Position(f.End()).Line - s.set.Position(f.Pos()).Line + 1; n > maxFunction {
			faults = append(faults, s.at(f.Pos(), "length", "%s has %d lines, at most %d", f.Name, n, maxFunction))
		}
	}
	return faults
}

// nesting finds control flow inside too much control flow. Else-if goes no deeper than its if, a case no deeper than
// its switch, and a function literal is where it stands.
func nesting(s *source) []fault {
	var faults []fault
	for _, decl := range s.file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
			ast.Walk(depth{0, func(pos token.Pos) {
				faults = append(faults, s.at(pos, "nesting", "more than %d blocks deep in %s", maxNesting, f.Name))
			}}, f.Body)
		}
	}
	return faults
}

// depth is a visitor that knows how many blocks it is in.
type depth struct {
	blocks int
	tooFar func(token.Pos)
}

// Visit reports the first block too deep and looks at nothing inside it.
func (d depth) Visit(node ast.Node) ast.Visitor {
	inner := depth{d.blocks + 1, d.tooFar}
	switch node := node.(type) {
	case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
	case *ast.IfStmt:
		if inner.blocks <= maxNesting {
			inner.visitIf(d, node)
			return nil
		}
	default:
		return d
	}
	if inner.blocks > maxNesting {
		d.tooFar(node.Pos())
		return nil
	}
	return inner
}

// visitIf visits the parts of an if at depth outer: its blocks are one deeper.
func (d depth) visitIf(outer depth, node *ast.IfStmt) {
	if node.Init != nil {
		ast.Walk(outer, node.Init)
	}
	ast.Walk(outer, node.Cond)
	ast.Walk(d, node.Body)
	switch other := node.Else.(type) {
	case *ast.IfStmt:
		ast.Walk(outer, other)
	case *ast.BlockStmt:
		ast.Walk(d, other)
	}
}
