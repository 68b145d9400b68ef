// Package docs_test keeps the documentation and the code together.
package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/console"
	"github.com/fusebox-project/fusebox/processor/kafka"
	"github.com/fusebox-project/fusebox/processor/policytest"
)

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// parseFiles parses the Go files that a pattern means, those of tests left out.
func parseFiles(t *testing.T, pattern string) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		t.Fatalf("no Go file matches %s", pattern)
	}
	return files
}

// TestVariables wants a row in operations.md for every variable, with its default.
func TestVariables(t *testing.T) {
	page := read(t, "operations.md")
	tag := regexp.MustCompile(`env:"(FUSEBOX_[A-Z_]+)"(?: envDefault:"([^"]*)")?`)
	found := tag.FindAllStringSubmatch(read(t, "../cmd/fusebox/config.go"), -1)
	if len(found) < 30 {
		t.Fatalf("config.go has %d variables with a tag, want 30 or more", len(found))
	}
	known := map[string]bool{}
	for _, f := range found {
		known[f[1]] = true
		row := "| `" + f[1] + "` | "
		if f[2] != "" {
			row += "`" + f[2] + "` |"
		}
		if !strings.Contains(page, row) {
			t.Errorf("operations.md has no row that begins with %s", row)
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `(FUSEBOX_[A-Z_]+)`").FindAllStringSubmatch(page, -1) {
		if !known[row[1]] {
			t.Errorf("operations.md has a row for %s, which config.go does not know", row[1])
		}
	}
}

// catalogue takes down the names of the metrics that are registered with it.
type catalogue map[string]bool

var metricName = regexp.MustCompile(`fqName: "([^"]+)"`)

// Register implements prometheus.Registerer.
func (c catalogue) Register(collector prometheus.Collector) error {
	descriptions := make(chan *prometheus.Desc, 100) // More than any collector here has.
	collector.Describe(descriptions)
	close(descriptions)
	for d := range descriptions {
		c[metricName.FindStringSubmatch(d.String())[1]] = true
	}
	return nil
}

// MustRegister implements prometheus.Registerer.
func (c catalogue) MustRegister(collectors ...prometheus.Collector) {
	for _, collector := range collectors {
		if err := c.Register(collector); err != nil {
			panic(err)
		}
	}
}

// Unregister implements prometheus.Registerer.
func (catalogue) Unregister(prometheus.Collector) bool { return false }

// TestMetrics wants every metric in the table of operations.md, and no other.
func TestMetrics(t *testing.T) {
	registered := catalogue{"fusebox_build_info": true}
	topics, client := kafka.TopicsWithPrefix("fusebox."), []kgo.Opt{kgo.SeedBrokers("127.0.0.1:1")}
	_, err := kafka.New(kafka.Config{
		Group: "g", Instance: "i", Topics: topics, DataDir: t.TempDir(), Client: client, Metrics: registered,
	})
	if err == nil {
		_, err = console.New(console.Config{Topics: topics, Client: client, Metrics: registered})
	}
	if err != nil || len(registered) < 20 {
		t.Fatalf("New registers %d metrics, %v; want 20 or more", len(registered), err)
	}
	documented := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`fusebox_[^|]+) \\|").FindAllStringSubmatch(
		read(t, "operations.md"), -1) {
		for _, name := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row[1], -1) {
			documented[name[1]] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(registered)) {
		if !documented[name] {
			t.Errorf("operations.md has no row for %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(documented)) {
		if !registered[name] {
			t.Errorf("operations.md has a row for %s, which nobody registers", name)
		}
	}
}

// TestPolicyKeys wants every key that the reader of policies takes in a table of policies.md.
func TestPolicyKeys(t *testing.T) {
	rows := strings.Join(regexp.MustCompile("(?m)^\\| (`.+?) \\|").FindAllString(read(t, "policies.md"), -1), "\n")
	keys := map[string]bool{}
	note := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if key, err := strconv.Unquote(literal.Value); err == nil {
					keys[key] = true
				}
			}
			return true
		})
	}
	for _, file := range parseFiles(t, "../breaker/read*.go") {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				if strings.HasSuffix(n.Names[0].Name, "Keys") {
					for _, value := range n.Values {
						note(value)
					}
				}
			case *ast.CallExpr:
				called, ok := n.Fun.(*ast.SelectorExpr)
				if ok && called.Sel.Name == "table" && len(n.Args) == 3 {
					if list, literal := n.Args[2].(*ast.CompositeLit); literal {
						note(list)
					}
				}
			}
			return true
		})
	}
	for _, key := range []string{"version", "lease", "over", "use_case", "match"} {
		if !keys[key] {
			t.Errorf("the keys read from breaker lack %q: have their names changed?", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !strings.Contains(rows, "`"+key+"`") {
			t.Errorf("policies.md has no row for the key %s", key)
		}
	}
}

// TestPolicies reads each policy file in policies.md, and runs each file of policy tests.
func TestPolicies(t *testing.T) {
	files, tests := 0, 0
	for _, b := range blocks(t, "policies.md", "yaml") {
		switch {
		case strings.HasPrefix(b.text, "version: 1"), strings.Contains(b.text, "\nversion: 1"):
			files++
			_, err := breaker.Read("policies.md", []byte(b.text))
			if faulty := strings.HasPrefix(b.text, "# bad.yaml\n"); faulty != (err != nil) {
				t.Errorf("the block in line %d: %v, want faults: %t", b.line, err, faulty)
			}
		case strings.Contains(b.text, "\ntests:"):
			file, err := policytest.Read("policies.md", []byte(b.text), os.ReadFile)
			if err != nil {
				t.Errorf("the block in line %d: %v", b.line, err)
				continue
			}
			for i := range file.Tests {
				tests++
				failures, notes := file.Tests[i].Run("policies.md")
				if len(failures)+len(notes) > 0 {
					t.Errorf("the block in line %d, %s: %+v, %+v", b.line, file.Tests[i].Name, failures, notes)
				}
			}
		default:
			t.Errorf("the block in line %d is neither a policy file nor a file of tests", b.line)
		}
	}
	if files == 0 || tests == 0 {
		t.Errorf("policies.md has %d policy files and %d tests, want some of each", files, tests)
	}
}
