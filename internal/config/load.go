package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

// Load reads and checks the file at path, and the files that it names: what it
// takes for good, a server can start with, unless an address is taken. The
// error is an [Error] when the file could be read and is wrong, and the
// operating system's when not.
func Load(path string) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	defer f.Close()
	return Read(path, f)
}

// Read is Load for what is open already and is called name in messages. It
// reads at most [MaxFile] bytes and one more.
func Read(name string, from io.Reader) (*Config, error) {
	var b bytes.Buffer
	if _, err := io.Copy(&b, io.LimitReader(from, MaxFile+1)); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	r := newReader(nil, nil)
	r.look = true
	return r.parse(name, b.Bytes())
}

// Parse checks data, which is called name in messages, and looks at nothing
// else: the files of TLS are not read. The error is an [Error].
func Parse(name string, data []byte) (*Config, error) {
	return newReader(nil, nil).parse(name, data)
}

func (r *reader) parse(name string, data []byte) (*Config, error) {
	text, ok := r.decodeText(data)
	if !ok {
		return nil, newError(name, r.problems)
	}
	root := r.readTree(text)
	if root == nil {
		return nil, newError(name, r.problems)
	}
	c, err := r.finish(name, root)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	c.Source = Source{Path: name, SHA256: hex.EncodeToString(sum[:])}
	return c, nil
}

// finish turns a tree into a Config, or all its problems into an error.
func (r *reader) finish(name string, root *node) (*Config, error) {
	d := &draft{}
	r.marks[""] = &node{kind: root.kind, line: root.line, column: root.column, width: 1}
	section{fields: d.fields()}.read(r, "", root)
	if root.kind == mappingNode {
		d.resolve(r)
	}
	if len(r.problems) > 0 {
		return nil, newError(name, r.problems)
	}
	c := d.config()
	c.Warnings = r.warnings(c)
	return c, nil
}
