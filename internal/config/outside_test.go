package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pair makes a certificate and its key in dir.
func pair(t *testing.T, dir, name string) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return put(t, dir, name+".pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))),
		put(t, dir, name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})))
}

func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What serve could not start with is wrong already when the file is read, at
// the line of the key that names it.
func TestFilesThatAreNamed(t *testing.T) {
	dir := t.TempDir()
	cert, key := pair(t, dir, "one")
	_, other := pair(t, dir, "two")
	plain := put(t, dir, "plain", "nothing of the kind\n")
	huge := put(t, dir, "huge", strings.Repeat("x", maxPEM+1))
	damaged := put(t, dir, "damaged", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
	missing, log := filepath.Join(dir, "missing"), filepath.Join(dir, "access.log")
	for _, c := range []struct {
		what, cert, key, log string
		wrong                []string // key and a part of the text
	}{
		{"good", cert, key, log, nil},
		{"a log that is there", cert, key, plain, nil},
		{"no certificate", missing, key, log, []string{"tls.cert: ", "no such file"}},
		{"no key", cert, missing, log, []string{"tls.key: ", "no such file"}},
		{"neither", missing, missing, log, []string{"tls.cert: ", "no such file", "tls.key: "}},
		{"a directory", dir, key, log, []string{"tls.cert: ", "not a regular file"}},
		{"another's key", cert, other, log, []string{"tls.key: ", "does not match"}},
		{"swapped", key, cert, log, []string{"tls.cert: ", "no certificate in it"}},
		{"the certificate twice", cert, cert, log, []string{"tls.key: ", "certificate rather than"}},
		{"no PEM", plain, key, log, []string{"tls.cert: ", "no certificate in it"}},
		{"no key in it", cert, plain, log, []string{"tls.key: ", "failed to find any PEM data"}},
		{"too large", huge, key, log, []string{"tls.cert: ", "more than 1024 KiB"}},
		{"damaged", damaged, key, log, []string{"tls.cert: ", "malformed"}},
		{"no directory for the log", cert, key, filepath.Join(missing, "log"), []string{"access_log.path: ", "the directory " + missing + ": no such file"}},
		{"the log in a file", cert, key, filepath.Join(plain, "log"), []string{"access_log.path: ", "not a directory"}},
		{"the log is a directory", cert, key, dir, []string{"access_log.path: ", "a directory"}},
		{"all at once", missing, key, dir, []string{"tls.cert: ", "access_log.path: "}},
	} {
		text := strings.Replace(small, "classify:", "tls:\n  cert: "+c.cert+"\n  key: "+c.key+"\naccess_log:\n  path: "+c.log+"\nclassify:", 1)
		got, err := Read("f.yaml", strings.NewReader(text))
		if _, made := os.Stat(log); made == nil {
			t.Fatalf("%s: reading made the log", c.what)
		}
		if c.wrong == nil {
			if err != nil || len(got.TLS.Pair.Certificate) != 1 {
				t.Errorf("%s: %v", c.what, err)
			}
			continue
		}
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		for _, part := range c.wrong {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: nothing of %q in %v", c.what, part, err)
			}
		}
		for _, p := range e.Problems {
			line := strings.Split(text, "\n")[p.Line-1]
			if name := p.Key[strings.LastIndexByte(p.Key, '.')+1:]; !strings.HasPrefix(line, "  "+name+": ") || p.Column != len(name)+5 {
				t.Errorf("%s: %s is said to stand at %d:%d, in %q", c.what, p.Key, p.Line, p.Column, line)
			}
		}
	}
}

// A log that is off, or goes to standard output, needs no file.
func TestNoLogNoFile(t *testing.T) {
	for _, log := range []string{"{format: off, path: /does/not/exist/log}", "{path: '-'}", "{}"} {
		if _, err := Read("f", strings.NewReader(small+"access_log: "+log+"\n")); err != nil {
			t.Errorf("%s: %v", log, err)
		}
	}
}

func TestOpenLog(t *testing.T) {
	dir := t.TempDir()
	l := AccessLog{Format: "text", Path: filepath.Join(dir, "log")}
	for range 2 {
		f, err := l.Open()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("line\n"); err != nil {
			t.Error(err)
		}
		f.Close()
	}
	if b, err := os.ReadFile(l.Path); err != nil || string(b) != "line\nline\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// Parse looks at its text only.
func TestParseReadsNoFiles(t *testing.T) {
	mustParse(t, small+"tls: {cert: /does/not/exist, key: /does/not/exist}\naccess_log: {path: /does/not/exist/log}\n")
}
