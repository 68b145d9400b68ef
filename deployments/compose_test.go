package deployments_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// variables are the names that fusebox reads. A name that ends with _* stands for all that begin so.
var variables = []string{
	"FUSEBOX_BROKERS", "FUSEBOX_GROUP", "FUSEBOX_TOPIC_PREFIX",
	"FUSEBOX_TOPIC_OUTCOMES", "FUSEBOX_TOPIC_SIGNALS", "FUSEBOX_TOPIC_STATE",
	"FUSEBOX_TOPIC_TRANSITIONS", "FUSEBOX_TOPIC_CHANGELOG", "FUSEBOX_TOPIC_DEAD_LETTERS",
	"FUSEBOX_DATA_DIR", "FUSEBOX_POLICY_FILE", "FUSEBOX_HTTP_ADDR",
	"FUSEBOX_ADMIN_TOKEN", "FUSEBOX_ADMIN_TOKEN_FILE", "FUSEBOX_API_TOKEN", "FUSEBOX_API_TOKEN_FILE",
	"FUSEBOX_INSTANCE_ID", "FUSEBOX_COMMIT_INTERVAL", "FUSEBOX_COMPRESSION", "FUSEBOX_WORKERS",
	"FUSEBOX_MAX_RESIDENT_CIRCUITS", "FUSEBOX_MAX_CIRCUITS", "FUSEBOX_METRICS_MAX_CIRCUITS",
	"FUSEBOX_DLQ_PAYLOAD", "FUSEBOX_SHUTDOWN_TIMEOUT", "FUSEBOX_LOG_LEVEL", "FUSEBOX_LOG_FORMAT",
	"FUSEBOX_TLS_*", "FUSEBOX_SASL_*",
}

// unknown returns the FUSEBOX_ names of a project that fusebox does not read, as service/NAME.
func unknown(project *types.Project) []string {
	var names []string
	for service, config := range project.Services {
		for name := range config.Environment {
			if strings.HasPrefix(name, "FUSEBOX_") && !slices.ContainsFunc(variables, matcher(name)) {
				names = append(names, service+"/"+name)
			}
		}
	}
	slices.Sort(names)
	return names
}

func matcher(name string) func(variable string) bool {
	return func(variable string) bool {
		family, isFamily := strings.CutSuffix(variable, "*")
		return name == variable || isFamily && strings.HasPrefix(name, family)
	}
}

func load(t *testing.T, file string, profiles ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{file}, cli.WithProfiles(profiles))
	if err != nil {
		t.Fatal(err)
	}
	project, err := cli.ProjectFromOptions(t.Context(), options)
	if err != nil {
		t.Fatalf("load %s: %v", file, err)
	}
	return project
}

func TestComposeVariables(t *testing.T) {
	if got := unknown(load(t, "compose.yaml")); len(got) > 0 {
		t.Errorf("compose.yaml sets %v, which fusebox does not read", got)
	}
	want := []string{"run/FUSEBOX_BROKER", "run/FUSEBOX_TLSCA"}
	if got := unknown(load(t, "testdata/mistyped.yaml")); !slices.Equal(got, want) {
		t.Errorf("unknown names of testdata/mistyped.yaml are %v, want %v", got, want)
	}
}

func TestComposeRunsKafkaAndTwoProcessors(t *testing.T) {
	project := load(t, "compose.yaml")
	if got, want := project.Services["kafka"].Image, "apache/kafka:4.3.1"; got != want {
		t.Errorf("kafka runs %s, want %s", got, want)
	}
	create := types.ShellCommand{"topics", "create"}
	if got := project.Services["topics"].Command; !slices.Equal(got, create) {
		t.Errorf("topics runs %v, want %v", got, create)
	}
	if got := project.Services["topics"].DependsOn["kafka"].Condition; got != types.ServiceConditionHealthy {
		t.Errorf("topics waits for kafka to be %q, want %q", got, types.ServiceConditionHealthy)
	}
	for name, port := range map[string]string{"fusebox-1": "8081", "fusebox-2": "8082"} {
		run := project.Services[name]
		if want := (types.ShellCommand{"run"}); !slices.Equal(run.Command, want) {
			t.Errorf("%s runs %v, want %v", name, run.Command, want)
		}
		if got := run.DependsOn["topics"].Condition; got != types.ServiceConditionCompletedSuccessfully {
			t.Errorf("%s waits for topics to be %q, want %q", name, got, types.ServiceConditionCompletedSuccessfully)
		}
		if got := run.Environment["FUSEBOX_INSTANCE_ID"]; got == nil || *got != name {
			t.Errorf("%s has instance id %v, want its own name", name, got)
		}
		if len(run.Volumes) != 1 || run.Volumes[0].Source != name || run.Volumes[0].Target != "/data" {
			t.Errorf("%s has volumes %v, want its own on /data", name, run.Volumes)
		}
		if len(run.Ports) != 1 || run.Ports[0].Published != port || run.Ports[0].Target != 8080 {
			t.Errorf("%s publishes %v, want %s for 8080", name, run.Ports, port)
		}
		if !run.ReadOnly || !slices.Equal(run.CapDrop, []string{"ALL"}) {
			t.Errorf("%s: read only %v, drops %v, want true and ALL", name, run.ReadOnly, run.CapDrop)
		}
	}
}

// TestComposeTakesMakesImage wants the name of the image among those that "make image" gives.
func TestComposeTakesMakesImage(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	tag := "-t " + load(t, "compose.yaml").Services["fusebox-1"].Image
	if !strings.Contains(string(makefile), tag+" ") {
		t.Errorf("the Makefile does not build an image with %s", tag)
	}
}

// TestComposeWatches: the profile brings Prometheus and Grafana, and what they mount is there.
func TestComposeWatches(t *testing.T) {
	if _, always := load(t, "compose.yaml").Services["grafana"]; always {
		t.Error("Grafana runs without the profile watch")
	}
	project := load(t, "compose.yaml", "watch")
	for _, name := range []string{"prometheus", "grafana"} {
		volumes := project.Services[name].Volumes
		if len(volumes) == 0 {
			t.Errorf("%s mounts nothing", name)
		}
		for _, v := range volumes {
			if found, err := os.ReadDir(v.Source); err != nil || len(found) == 0 || !v.ReadOnly {
				t.Errorf("%s mounts %s with %d files, read only: %t, %v; want files, and not to write",
					name, v.Source, len(found), v.ReadOnly, err)
			}
		}
	}
}
