package deployments_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

// user is who runs in the image.
const user = 65532

func command(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return out
}

// buildImage builds the image from a binary of this machine and returns its id.
func buildImage(t *testing.T, version string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "rootfs")
	command(t, "make", "--no-print-directory", "-C", "..", "rootfs", "ROOTFS="+root, "VERSION="+version)
	id := command(t, "docker", "build", "--quiet", "--target", "prebuilt", "-f", "Dockerfile", root)
	image := strings.TrimSpace(string(id))
	t.Cleanup(func() { command(t, "docker", "rmi", image) })
	return image
}

func TestImage(t *testing.T) {
	kafkatest.Require(t, "docker")
	const version = "v0.0.0-image"
	image := buildImage(t, version)

	t.Run("runs read-only without rights or network", func(t *testing.T) {
		out := command(t, "docker", "run", "--rm", "--read-only", "--cap-drop", "ALL", "--network", "none",
			"--security-opt", "no-new-privileges", image, "version")
		if !strings.Contains(string(out), version) {
			t.Errorf("fusebox version prints %q, want %s in it", out, version)
		}
	})
	t.Run("is not root and runs the processor", func(t *testing.T) {
		format := "{{.Config.User}} {{.Config.Entrypoint}} {{.Config.Cmd}} {{.Config.ExposedPorts}} {{.Config.Volumes}}"
		got := command(t, "docker", "image", "inspect", "-f", format, image)
		want := "65532:65532 [/fusebox] [run] map[8080/tcp:{}] map[/data:{}]"
		if strings.TrimSpace(string(got)) != want {
			t.Errorf("the image's configuration is %s, want %s", got, want)
		}
	})
	t.Run("holds what it needs, and only its data is its own", func(t *testing.T) {
		files := list(t, image)
		for _, name := range []string{"fusebox", "etc/passwd", "etc/ssl/certs/ca-certificates.crt"} {
			if file := files[name]; file == nil || file.Size == 0 || file.Uid != 0 {
				t.Errorf("/%s is %+v, want a file of root's that is not empty", name, file)
			}
		}
		for _, name := range []string{"data/", "tmp/"} {
			if dir := files[name]; dir == nil || dir.Uid != user || dir.Gid != user {
				t.Errorf("/%s is %+v, want a directory of user %d", name, dir, user)
			}
		}
	})
}

// list returns the files of an image by name.
func list(t *testing.T, image string) map[string]*tar.Header {
	t.Helper()
	container := strings.TrimSpace(string(command(t, "docker", "create", image)))
	defer command(t, "docker", "rm", "-v", container)
	files := make(map[string]*tar.Header)
	archive := tar.NewReader(bytes.NewReader(command(t, "docker", "export", container)))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatalf("list %s: %v", image, err)
		}
		files[header.Name] = header
	}
}
