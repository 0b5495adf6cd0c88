//go:build unix

package config

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A named pipe that nobody reads must keep nobody waiting: not as a log, and
// not as a key.
func TestPipesDoNotBlock(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("left out: no named pipes here: %v", err)
	}
	for key, text := range map[string]string{
		"access_log.path": "access_log: {path: " + pipe + "}\n",
		"tls.cert":        "tls: {cert: " + pipe + ", key: " + pipe + "}\n",
	} {
		if _, err := Read("f", strings.NewReader(small+text)); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// Permissions do not bind root, so root has the test run by somebody else.
func TestPermissions(t *testing.T) {
	if os.Geteuid() == 0 {
		asNobody(t)
		return
	}
	dir := t.TempDir()
	cert, key := pair(t, dir, "one")
	closed := filepath.Join(dir, "closed")
	log := put(t, dir, "log", "")
	if err := os.Mkdir(closed, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(key, 0), os.Chmod(log, 0o400)); err != nil {
		t.Fatal(err)
	}
	for key, text := range map[string]string{
		"tls.key":         "tls: {cert: " + cert + ", key: " + key + "}\n",
		"access_log.path": "access_log: {path: " + log + "}\n",
		"closed":          "access_log: {path: " + filepath.Join(closed, "log") + "}\n",
	} {
		if _, err := Read("f", strings.NewReader(small+text)); err == nil || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// asNobody runs the test of the same name, from a copy of this program that
// everybody may read, as a user without rights.
func asNobody(t *testing.T) {
	dir, err := os.MkdirTemp("", "nobody")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "test")
	if err := errors.Join(os.WriteFile(program, b, 0o755), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	cmd := exec.Command(program, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("%v\n%s", err, out)
	}
}
