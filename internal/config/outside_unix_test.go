//go:build unix

package config

import (
	"errors"
	"os"
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

func TestPermissions(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("left out: permissions do not bind root")
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
