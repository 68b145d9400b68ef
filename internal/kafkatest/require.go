package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// needs are the things that not every machine has, each with a probe that says what is missing.
var needs = map[string]func() error{
	"docker":     docked,
	"kafka":      sync.OnceValue(probeKafka),
	"kcat":       probeKcat,
	"chromium":   probeChromium,
	"prometheus": probePrometheus,
	"java":       sync.OnceValue(probeJava),
	"javascript": sync.OnceValue(probeJavaScript),
	"curl":       probeCurl,
	"jq":         probeJQ,
	"python":     sync.OnceValue(probePython),
	"shared":     probeShared,
}

var docked = sync.OnceValue(probeDocker)

// Require skips the test if the machine lacks one of the needs: docker, kafka (Docker and the image of Apache Kafka),
// kcat, curl, jq, chromium, prometheus (and its promtool), python, java and javascript (each with its Kafka client
// where it looks for libraries, as .ci/run puts it there), shared (the directory beside the project). It fails the test
// instead if FUSEBOX_TEST_REQUIRE, a list with commas, names the need.
func Require(t testing.TB, names ...string) {
	t.Helper()
	required, err := requirements(os.Getenv("FUSEBOX_TEST_REQUIRE"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		probe, known := needs[name]
		if !known {
			t.Fatalf("Require: nobody knows the need %q", name)
		}
		err := probe()
		switch {
		case err == nil:
		case slices.Contains(required, name):
			t.Fatalf("FUSEBOX_TEST_REQUIRE names %s: %v", name, err)
		default:
			t.Skipf("needs %s: %v", name, err)
		}
	}
}

// Shared returns a path under the directory of shared files beside the project. It is a need, see Require.
func Shared(t testing.TB, elements ...string) string {
	t.Helper()
	Require(t, "shared")
	root, err := ProjectRoot()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(append([]string{root, "..", "shared"}, elements...)...)
}

// ProjectRoot returns the nearest directory, from the working directory upwards, that holds a go.mod.
func ProjectRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the project: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find the project: no go.mod above %s", start)
		}
	}
}

// Image returns the image of Apache Kafka that tests run.
func Image() string {
	if image := os.Getenv("FUSEBOX_TEST_KAFKA_IMAGE"); image != "" {
		return image
	}
	return "apache/kafka:4.3.1"
}

// requirements splits a list of needs. Whoever requires Kafka requires Docker. A name that nobody knows is an error,
// as it would otherwise require nothing.
func requirements(list string) ([]string, error) {
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if _, known := needs[name]; !known {
			return nil, fmt.Errorf("FUSEBOX_TEST_REQUIRE: nobody knows the need %q", name)
		}
		if name == "kafka" {
			names = append(names, "docker")
		}
		names = append(names, name)
	}
	return names, nil
}

func probeDocker() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := exec.LookPath("docker"); err != nil {
		return errors.New("there is no docker command")
	}
	if err := exec.CommandContext(ctx, "docker", "version").Run(); err != nil {
		return fmt.Errorf("no Docker daemon answers: docker version: %w", err)
	}
	return nil
}

func probeKafka() error {
	if err := docked(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if exec.CommandContext(ctx, "docker", "image", "inspect", Image()).Run() == nil {
		return nil
	}
	if out, err := exec.CommandContext(ctx, "docker", "pull", "--quiet", Image()).CombinedOutput(); err != nil {
		return fmt.Errorf("image %s is neither here nor to be had (%w): %s", Image(), err, lastLine(out))
	}
	return nil
}

func probeKcat() error {
	_, err := exec.LookPath("kcat")
	return err
}

func probePrometheus() error {
	for _, name := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(name); err != nil {
			return err
		}
	}
	return nil
}

func probeCurl() error {
	_, err := exec.LookPath("curl")
	return err
}

func probeJQ() error {
	_, err := exec.LookPath("jq")
	return err
}

func probeJava() error {
	if _, err := exec.LookPath("javac"); err != nil {
		return err
	}
	return loads("kafka-clients and jackson-databind on the CLASSPATH", "javap",
		"org.apache.kafka.clients.producer.KafkaProducer", "com.fasterxml.jackson.databind.ObjectMapper")
}

func probeJavaScript() error {
	return loads("kafkajs on the NODE_PATH", "node", "-e", "require('kafkajs')")
}

func probePython() error {
	return loads("confluent-kafka", "python3", "-c", "import confluent_kafka")
}

// loads tells whether a program finds its library, and says which one it does not find.
func loads(what string, command ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	if err != nil && len(out) > 0 {
		return fmt.Errorf("%s does not find %s", command[0], what)
	}
	return err
}

// browsers are what Chromium and its kin are called.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// Chromium returns the path of the browser. It is a need, see Require.
func Chromium(t testing.TB) string {
	t.Helper()
	Require(t, "chromium")
	path, err := findChromium()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func probeChromium() error {
	_, err := findChromium()
	return err
}

func findChromium() (string, error) {
	for _, name := range browsers {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is none of the commands %s", strings.Join(browsers, ", "))
}

func probeShared() error {
	root, err := ProjectRoot()
	if err != nil {
		return err
	}
	_, err = os.Stat(filepath.Join(root, "..", "shared"))
	return err
}

// lastLine returns the last line of a command's output.
func lastLine(out []byte) string {
	text := strings.TrimSpace(string(out))
	return text[strings.LastIndex(text, "\n")+1:]
}
