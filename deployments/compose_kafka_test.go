package deployments_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

// TestComposeKafkaBecomesHealthy runs the broker with the settings of compose.yaml and asks what its health check asks.
func TestComposeKafkaBecomesHealthy(t *testing.T) {
	kafkatest.Require(t, "kafka")
	service := load(t, "compose.yaml").Services["kafka"]
	args := []string{"run", "--detach", "--hostname", "kafka", "--label", "org.testcontainers=true"}
	for name, value := range service.Environment {
		args = append(args, "--env", name+"="+*value)
	}
	container := strings.TrimSpace(string(command(t, "docker", append(args, kafkatest.Image())...)))
	t.Cleanup(func() { command(t, "docker", "rm", "--force", "--volumes", container) })

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	check := append([]string{"exec", container}, service.HealthCheck.Test[1:]...)
	for {
		out, err := exec.CommandContext(ctx, "docker", check...).CombinedOutput()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("docker %s: %v: %s\n%s", strings.Join(check, " "), err, out,
				command(t, "docker", "logs", "--tail", "20", container))
		}
	}
}
