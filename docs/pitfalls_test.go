package docs_test

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pitfalls is how many known traps there are.
const pitfalls = 42

// testFile is a file of tests.
type testFile struct {
	path string
	*ast.File
}

// testFiles returns the files of tests of all packages.
func testFiles(t *testing.T) []testFile {
	t.Helper()
	var files []testFile
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		const mode = parser.ParseComments | parser.SkipObjectResolution
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, mode)
		files = append(files, testFile{path, file})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// imports tells whether a file imports a package, or one below it.
func (f testFile) imports(path string) bool {
	return slices.ContainsFunc(f.Imports, func(spec *ast.ImportSpec) bool {
		name, err := strconv.Unquote(spec.Path.Value)
		return err == nil && (name == path || strings.HasPrefix(name, path+"/"))
	})
}

// needsTag tells whether a file is compiled with the tag synctests alone.
func (f testFile) needsTag() bool {
	for _, group := range f.Comments {
		for _, c := range group.List {
			line, err := constraint.Parse(c.Text)
			if err == nil && !line.Eval(func(tag string) bool { return tag != "synctests" }) {
				return true
			}
		}
	}
	return false
}

var (
	inName    = regexp.MustCompile(`^TestPitfall(\d\d)(?:And(\d\d))?`)
	inComment = regexp.MustCompile(`Pitfall\s+(\d+):`)
)

// named returns the tests of all packages, as package.Name, with the traps that their names and comments name.
func named(t *testing.T) map[string][]int {
	t.Helper()
	all := map[string][]int{}
	for _, file := range testFiles(t) {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") {
				continue
			}
			numbers := []int{}
			texts := inName.FindStringSubmatch(f.Name.Name)
			for _, found := range inComment.FindAllStringSubmatch(f.Doc.Text(), -1) {
				texts = append(texts, found[1])
			}
			for _, text := range texts {
				if n, err := strconv.Atoi(text); err == nil {
					numbers = append(numbers, n)
				}
			}
			all[filepath.Base(filepath.Dir(file.path))+"."+f.Name.Name] = numbers
		}
	}
	return all
}

// TestPitfallsTable wants a row for each known trap in design.md, with tests that exist and name it, and every test
// that names a trap in its row.
func TestPitfallsTable(t *testing.T) {
	tests, page := named(t), read(t, "design.md")
	rows := regexp.MustCompile(`(?m)^\| (\d+) \| .+ \| (.+) \|$`).FindAllStringSubmatch(page, -1)
	if len(rows) != pitfalls {
		t.Errorf("design.md has %d rows of known traps, want %d", len(rows), pitfalls)
	}
	listed := map[string][]int{}
	for i, row := range rows {
		number, err := strconv.Atoi(row[1])
		if err != nil || number != i+1 {
			t.Errorf("row %d has the number %s", i+1, row[1])
		}
		for _, name := range regexp.MustCompile("`([a-z]+\\.Test[A-Za-z0-9]+)`").FindAllStringSubmatch(row[2], -1) {
			numbers, known := tests[name[1]]
			if !known || !slices.Contains(numbers, number) {
				t.Errorf("row %d has %s: it exists: %v, and names the traps %v", number, name[1], known, numbers)
			}
			listed[name[1]] = append(listed[name[1]], number)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		for _, number := range tests[name] {
			if !slices.Contains(listed[name], number) {
				t.Errorf("%s names trap %d, whose row does not name it", name, number)
			}
		}
	}
	for _, row := range rows {
		if !strings.Contains(row[2], "`") {
			t.Errorf("row %s has no test", row[1])
		}
	}
}

// TestPitfall15Versions reads which versions of the libraries are used: the first without the faults, or a later one.
// Pitfall 22: the broker of the tests has no releases, so its version is that of one commit.
func TestPitfall15Versions(t *testing.T) {
	line := regexp.MustCompile(`(?m)^\t(\S+) v(\d+)\.(\d+)\.(\d+)(-\S+)?`)
	least := map[string][3]int{
		"github.com/dgraph-io/badger/v4": {4, 9, 6}, "github.com/twmb/franz-go": {1, 22, 3},
	}
	pinned := false
	for _, use := range line.FindAllStringSubmatch(read(t, "../go.mod"), -1) {
		var version [3]int
		for i := range version {
			version[i], _ = strconv.Atoi(use[2+i]) // All of them are digits.
		}
		if want, any := least[use[1]]; any {
			delete(least, use[1])
			if slices.Compare(version[:], want[:]) < 0 {
				t.Errorf("%s is used in version %v, want %v or later", use[1], version, want)
			}
		}
		pinned = pinned || use[1] == "github.com/twmb/franz-go/pkg/kfake" && len(use[5]) > len("-20060102150405-")
	}
	if len(least) > 0 || !pinned {
		t.Errorf("go.mod names no version of %v; that of the broker of the tests is one of a commit: %v", least, pinned)
	}
}

// TestPitfall21Tag wants the tag synctests on every file that runs the client in virtual time: without it the client
// holds locks there that stop the clock.
func TestPitfall21Tag(t *testing.T) {
	tagged := 0
	for _, file := range testFiles(t) {
		virtual := file.imports("testing/synctest") && (file.imports("github.com/twmb/franz-go") ||
			file.imports("github.com/fusebox-project/fusebox/internal/kafkatest"))
		ast.Inspect(file.File, func(n ast.Node) bool {
			call, ok := n.(*ast.Ident)
			virtual = virtual || ok && call.Name == "inWorld"
			return true
		})
		if !virtual {
			continue
		}
		if tagged++; !file.needsTag() {
			t.Errorf("%s runs in virtual time without the tag synctests", file.path)
		}
	}
	if tagged < 10 {
		t.Errorf("%d files run in virtual time, want 10 or more", tagged)
	}
}
