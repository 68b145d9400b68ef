package tidy

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// places are the packages of ARCHITECTURE.md, in its order: each may import those behind it. A package below a place
// belongs to it.
var places = []string{
	"cmd/fusebox", "examples", "deployments", "console", "client", "processor/kafka", "internal/oracle",
	"processor", "breaker", "windows", "schemas", "state", "internal",
}

// testHelpers are imported by tests alone.
var testHelpers = []string{"internal/browser", "internal/kafkatest", "internal/oracle"}

// domainless are the places that know nothing of the domain, and so import nothing of the project outside themselves.
var domainless = []string{"state", "internal"}

// purePlaces do no I/O, do not read the clock, start no goroutine and hold no lock.
var purePlaces = []string{"processor", "breaker", "windows", "schemas"}

// pureLibraries are what pure packages may use besides each other and the standard library.
var pureLibraries = []struct{ path, reason string }{
	{"go.yaml.in/yaml/v4", "reads YAML from bytes, with positions"},
	{"github.com/go-json-experiment/json", "reads and writes JSON in memory"},
	{"github.com/cespare/xxhash/v2", "a hash"},
	{"github.com/agnivade/levenshtein", "counts edits between words"},
}

// impure are the packages of the standard library that do I/O, lock, or answer otherwise at every call.
var impure = []string{
	"os", "net", "log", "syscall", "sync", "io/ioutil", "path/filepath", "database/sql", "plugin", "testing",
	"math/rand", "crypto/rand",
}

// alsoPure are packages below an impure one that only compute.
var alsoPure = []string{"net/url", "net/netip"}

// clock are the functions of package time that read it or wait for it.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// within tells whether a package is the other one or lies below it.
func within(pkg, place string) bool { return pkg == place || strings.HasPrefix(pkg, place+"/") }

// placeOf returns the place that a package of the project belongs to, the narrowest, or "".
func placeOf(pkg string) string {
	var found string
	for _, place := range places {
		if within(pkg, place) && len(place) > len(found) {
			found = place
		}
	}
	return found
}

// imported returns the path that an import names.
func imported(spec *ast.ImportSpec) string {
	name, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		panic("import path " + spec.Path.Value + ": " + err.Error())
	}
	return name
}

// layers finds imports that go up the list, and packages that are not in it.
func layers(s *source) []fault {
	pkg := path.Dir(s.path)
	if s.isTest() {
		return nil
	}
	from := placeOf(pkg)
	if from == "" {
		return []fault{s.at(s.file.Package, "layers", "package %s has no place in the list of packages", pkg)}
	}
	var faults []fault
	for _, spec := range s.file.Imports {
		target, ours := strings.CutPrefix(imported(spec), module+"/")
		to := placeOf(target)
		switch {
		case !ours || to == from:
		case slices.Contains(testHelpers, target):
			faults = append(faults, s.at(spec.Pos(), "layers", "only tests import %s", target))
		case slices.Contains(domainless, from):
			faults = append(faults, s.at(spec.Pos(), "layers", "%s knows nothing of the domain, not %s", from, target))
		case slices.Index(places, to) < slices.Index(places, from):
			faults = append(faults, s.at(spec.Pos(), "layers", "%s imports %s, which is above it", from, target))
		}
	}
	return faults
}

// pure finds I/O, the clock, goroutines and locks in pure packages.
func pure(s *source) []fault {
	if s.isTest() || !slices.Contains(purePlaces, placeOf(path.Dir(s.path))) {
		return nil
	}
	var faults []fault
	for _, spec := range s.file.Imports {
		if name := imported(spec); !mayImport(name) || spec.Name != nil && spec.Name.Name == "." {
			faults = append(faults, s.at(spec.Pos(), "pure", "a pure package does not import %s so", name))
		}
	}
	for _, use := range uses(s, "time") {
		if slices.Contains(clock, use.Sel.Name) {
			faults = append(faults, s.at(use.Pos(), "pure", "a pure package takes the time, it does not call time.%s",
				use.Sel.Name))
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if g, ok := n.(*ast.GoStmt); ok {
			faults = append(faults, s.at(g.Pos(), "pure", "a pure package starts no goroutine"))
		}
		return true
	})
	return faults
}

// mayImport tells whether a pure package may import this path.
func mayImport(name string) bool {
	if target, ours := strings.CutPrefix(name, module+"/"); ours {
		return slices.Contains(purePlaces, placeOf(target))
	}
	if first, _, _ := strings.Cut(name, "/"); strings.Contains(first, ".") {
		for _, library := range pureLibraries {
			if within(name, library.path) {
				return true
			}
		}
		return false
	}
	return slices.Contains(alsoPure, name) ||
		!slices.ContainsFunc(impure, func(not string) bool { return within(name, not) })
}

// environment finds places that read the environment, which is for cmd/fusebox/config.go and for tests, and for the
// examples, which are programs of their own.
func environment(s *source) []fault {
	if s.isTest() || s.path == "cmd/fusebox/config.go" || within(s.path, "examples") {
		return nil
	}
	readers := map[string][]string{
		"os":                          {"Getenv", "LookupEnv", "Environ", "ExpandEnv"},
		"syscall":                     {"Getenv", "Environ"},
		"github.com/caarlos0/env/v11": {"Parse", "ParseAs", "ParseWithOptions", "ParseAsWithOptions", "Must", "ToMap"},
	}
	var faults []fault
	for name, functions := range readers {
		for _, use := range uses(s, name) {
			if slices.Contains(functions, use.Sel.Name) {
				faults = append(faults, s.at(use.Pos(), "environment", "%s.%s is for cmd/fusebox/config.go alone",
					name, use.Sel.Name))
			}
		}
	}
	return faults
}

var majorVersion = regexp.MustCompile(`/v\d+$`)

// uses returns where a file uses what an import gives it.
func uses(s *source, name string) []*ast.SelectorExpr {
	var local string
	for _, spec := range s.file.Imports {
		if imported(spec) != name {
			continue
		}
		local = path.Base(majorVersion.ReplaceAllString(name, ""))
		if spec.Name != nil {
			local = spec.Name.Name
		}
	}
	var found []*ast.SelectorExpr
	ast.Inspect(s.file, func(n ast.Node) bool {
		use, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := use.X.(*ast.Ident); ok && local != "" && x.Name == local && x.Obj == nil {
			found = append(found, use)
		}
		return true
	})
	return found
}
