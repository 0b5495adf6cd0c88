package config

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxPEM bounds the files of TLS, in bytes.
const maxPEM = 1 << 20

// resolveFiles looks at the files that the configuration names, so that who
// checks it and who serves it find the same. Paths that are not absolute begin
// at the working directory of the process.
func (d *draft) resolveFiles(r *reader) {
	if r.given("tls.cert") && r.given("tls.key") {
		d.resolvePair(r)
	}
	l := &d.cfg.AccessLog
	if l.Format == "off" || l.Path == "-" || !r.given("access_log.path") {
		return
	}
	if err := l.check(); err != nil {
		r.fail("access_log.path", nil, "is %s, which cannot be written (%v); a file that can be appended to or made, or - for standard output, is needed", quote(l.Path), cause(err))
	}
}

func (d *draft) resolvePair(r *reader) {
	cert, err := readPEM(d.tls.Cert)
	if err == nil {
		err = certificates(cert)
	}
	if err != nil {
		r.fail("tls.cert", nil, "is %s, which cannot be used (%v); a PEM file with the certificate and its chain is needed", quote(d.tls.Cert), cause(err))
	}
	key, keyErr := readPEM(d.tls.Key)
	if err == nil && keyErr == nil {
		d.tls.Pair, keyErr = tls.X509KeyPair(cert, key)
	}
	if keyErr != nil {
		r.fail("tls.key", nil, "is %s, which cannot be used (%s); a PEM file with the private key of the certificate, without a password, is needed", quote(d.tls.Key), strings.TrimPrefix(cause(keyErr).Error(), "tls: "))
	}
}

// certificates says what is wrong with a chain in PEM.
func certificates(data []byte) error {
	n := 0
	for {
		var b *pem.Block
		if b, data = pem.Decode(data); b == nil {
			break
		}
		if b.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(b.Bytes); err != nil {
			return err
		}
		n++
	}
	if n == 0 {
		return errors.New("no certificate in it")
	}
	return nil
}

// readPEM reads a file of reasonable size. A pipe could keep its reader waiting
// for ever, and could not be read again at a reload.
func readPEM(path string) ([]byte, error) {
	if st, err := os.Stat(path); err != nil {
		return nil, err
	} else if !st.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPEM+1))
	if err == nil && len(data) > maxPEM {
		err = fmt.Errorf("more than %d KiB", maxPEM>>10)
	}
	return data, err
}

// Open opens the file for appending, and makes it when it is not there. There
// must be a Path that is a file's. A named pipe that nobody reads is an error,
// not a wait.
func (l AccessLog) Open() (*os.File, error) {
	return os.OpenFile(l.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY|noWait, 0o640)
}

// check says what Open would, and makes nothing.
func (l AccessLog) check() error {
	st, err := os.Stat(l.Path)
	switch {
	case err == nil && st.IsDir():
		return errors.New("a directory")
	case err == nil:
		f, err := os.OpenFile(l.Path, os.O_APPEND|os.O_WRONLY|noWait, 0)
		if err != nil {
			return err
		}
		return f.Close()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	dir := filepath.Dir(l.Path)
	if st, err := os.Stat(dir); err != nil {
		return fmt.Errorf("the directory %s: %w", dir, cause(err))
	} else if !st.IsDir() {
		return fmt.Errorf("%s is no directory", dir)
	}
	if err := creatable(dir); err != nil {
		return fmt.Errorf("the directory %s: %w", dir, err)
	}
	return nil
}

// cause is what the operating system said, without the path that is said already.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
