package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// writable says what can be seen to be wrong with a directory before any work
// is done for it. It makes nothing that stays.
func writable(dir string) error {
	at := filepath.Clean(dir)
	info, err := os.Stat(at)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(at) != at {
		at = filepath.Dir(at) // the nearest that exists
		info, err = os.Stat(at)
	}
	if err != nil {
		return fmt.Errorf("lab: output directory: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("lab: output directory %s: %s is a file; a directory, or a name that is free, is allowed", dir, at)
	}
	if at != filepath.Clean(dir) {
		return nil
	}
	w, err := os.CreateTemp(dir, aside("manifest.json")+"*")
	if err != nil {
		return fmt.Errorf("lab: output directory %s: %w", dir, err)
	}
	return errors.Join(w.Close(), os.Remove(w.Name()))
}

// write writes every file beside its final name first, so that a disk that is
// full, or a process that is killed, leaves what was there before. It returns
// the names of what it removed.
func write(dir string, files []file, left []LeftOut) (removed []string, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("lab: output directory: %w", err)
	}
	if err := sweep(dir, files, left); err != nil {
		return nil, err
	}
	var asides []string
	defer func() {
		for _, name := range asides {
			if name != "" {
				err = errors.Join(err, os.Remove(name))
			}
		}
	}()
	for _, f := range files {
		name, err := writeAside(dir, f)
		if name != "" {
			asides = append(asides, name)
		}
		if err != nil {
			return nil, fmt.Errorf("lab: %s: %w", filepath.Join(dir, f.name), err)
		}
	}
	if removed, err = removeStale(dir, left); err != nil {
		return removed, err
	}
	for i, f := range files {
		if err := os.Rename(asides[i], filepath.Join(dir, f.name)); err != nil {
			return removed, fmt.Errorf("lab: %w", err)
		}
		asides[i] = ""
	}
	return removed, nil
}

// aside is what the name of a file begins with while it is not complete. A
// number follows.
func aside(name string) string { return "." + name + "-" }

// writeAside writes a file under a name of its own, and returns it if it exists.
func writeAside(dir string, f file) (string, error) {
	w, err := os.CreateTemp(dir, aside(f.name)+"*")
	if err != nil {
		return "", err
	}
	_, err = w.Write(f.data)
	if err == nil {
		err = w.Chmod(0o644)
	}
	if err == nil {
		err = w.Sync()
	}
	if closing := w.Close(); err == nil {
		err = closing
	}
	return w.Name(), err
}

// sweep removes what a run that was killed has left: files with the names that
// writeAside gives, and nothing else. A run that writes to the same directory at
// this moment loses its files, and says so: the two would have mixed.
func sweep(dir string, files []file, left []LeftOut) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("lab: output directory: %w", err)
	}
	names := []string{"manifest.json"}
	for _, f := range files {
		names = append(names, f.name)
	}
	for _, l := range left {
		names = append(names, l.File)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !incomplete(e.Name(), names) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("lab: a file that an earlier run has left: %w", err)
		}
	}
	return nil
}

// incomplete says that a name is one that writeAside gives for one of the names.
func incomplete(entry string, names []string) bool {
	for _, name := range names {
		if number, ok := strings.CutPrefix(entry, aside(name)); ok && number != "" && strings.Trim(number, "0123456789") == "" {
			return true
		}
	}
	return false
}

// removeStale removes files of an earlier run that this one does not make.
func removeStale(dir string, left []LeftOut) (removed []string, err error) {
	for _, l := range left {
		path := filepath.Join(dir, l.File)
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err == nil && info.IsDir():
			return removed, fmt.Errorf("lab: %s is a directory, where a file of an earlier run could be; move it away", path)
		case err == nil:
			err = os.Remove(path)
		}
		if err != nil {
			return removed, fmt.Errorf("lab: a file of an earlier run: %w", err)
		}
		removed = append(removed, l.File)
	}
	return removed, nil
}
