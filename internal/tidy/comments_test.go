package tidy

import (
	"go/ast"
	"strings"
	"unicode"
	"unicode/utf8"
)

// comments finds exported names whose comment does not begin with the name. Test files, fields and methods of types
// that are not exported need none. In a group of constants or variables the comment of the group will do, or one
// behind the name.
func comments(s *source) []fault {
	if s.isTest() {
		return nil
	}
	var faults []fault
	for _, decl := range s.file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Name.IsExported() && exportedReceiver(decl) && !begins(decl.Doc, decl.Name.Name) {
				faults = append(faults, uncommented(s, decl.Name))
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				faults = append(faults, commentsOfSpec(s, decl, spec)...)
			}
		}
	}
	return faults
}

func commentsOfSpec(s *source, decl *ast.GenDecl, spec ast.Spec) []fault {
	grouped := decl.Lparen.IsValid()
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		doc := spec.Doc
		if !grouped {
			doc = decl.Doc
		}
		if spec.Name.IsExported() && !begins(doc, spec.Name.Name) {
			return []fault{uncommented(s, spec.Name)}
		}
	case *ast.ValueSpec:
		covered := grouped && spec.Doc == nil && (decl.Doc != nil || spec.Comment != nil)
		doc := spec.Doc
		if !grouped {
			doc = decl.Doc
		}
		name := firstExported(spec.Names)
		if name != nil && !covered && !begins(doc, name.Name) {
			return []fault{uncommented(s, name)}
		}
	}
	return nil
}

func firstExported(names []*ast.Ident) *ast.Ident {
	for _, name := range names {
		if name.IsExported() {
			return name
		}
	}
	return nil
}

// exportedReceiver tells whether a function is none of a type that is not exported.
func exportedReceiver(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	receiver := f.Recv.List[0].Type
	for {
		switch of := receiver.(type) {
		case *ast.StarExpr:
			receiver = of.X
		case *ast.IndexExpr:
			receiver = of.X
		case *ast.IndexListExpr:
			receiver = of.X
		case *ast.Ident:
			return of.IsExported()
		default:
			return true
		}
	}
}

// begins tells whether a comment begins with the name, as a word.
func begins(doc *ast.CommentGroup, name string) bool {
	rest, ok := strings.CutPrefix(doc.Text(), name)
	next, _ := utf8.DecodeRuneInString(rest)
	return ok && !unicode.IsLetter(next) && !unicode.IsDigit(next) && next != '_'
}

func uncommented(s *source, name *ast.Ident) fault {
	return s.at(name.Pos(), "comment", "%s needs a comment that begins with its name", name.Name)
}
