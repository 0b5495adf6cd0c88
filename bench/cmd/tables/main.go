// Command tables runs the comparison and writes it as a page, with versions and
// machine, losing rows left in. It is run in the directory of the module.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-go/plimsoll/bench"
)

func main() {
	out := flag.String("o", "../docs/reference/performance.md", "write the page to `FILE`")
	count := flag.Int("count", 7, "how many times to run each benchmark; the page has medians")
	benchtime := flag.String("benchtime", "100ms", "how long to run each, as in go test")
	flag.Parse()
	if err := run(*out, *count, *benchtime); err != nil {
		fmt.Fprintln(os.Stderr, "tables:", err)
		os.Exit(1)
	}
}

func run(out string, count int, benchtime string) error {
	var page bytes.Buffer
	peers, err := measure(".", ".", count, benchtime)
	if err != nil {
		return err
	}
	versions, err := modules()
	if err != nil {
		return err
	}
	head(&page, peers.cpu, count, benchtime)
	compare(&page, peers, versions)
	for _, o := range own() {
		m, err := measure(o.dir, o.pattern, 3, benchtime)
		if err != nil {
			return err
		}
		o.write(&page, m)
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(out, page.Bytes(), 0o644)
}

// modules are the versions of the peers.
func modules() (map[string]string, error) {
	b, err := exec.Command("go", "list", "-m", "-f", "{{.Path}} {{.Version}}", "all").Output()
	if err != nil {
		return nil, fmt.Errorf("go list -m all: %w", err)
	}
	versions := make(map[string]string)
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 {
			versions[f[0]] = f[1]
		}
	}
	return versions, nil
}

// results are medians by benchmark and unit.
type results struct {
	cpu    string
	names  []string // in the order of the run
	values map[string]map[string][]float64
}

func (r *results) median(name, unit string) (float64, bool) {
	v := slices.Sorted(slices.Values(r.values[name][unit]))
	if len(v) == 0 {
		return 0, false
	}
	return v[len(v)/2], true
}

// measure runs all benchmarks of a folder, and then all of them again, so that
// whatever else the machine does falls on everybody.
func measure(dir, pattern string, count int, benchtime string) (*results, error) {
	tmp, err := os.MkdirTemp("", "tables")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	binary := filepath.Join(tmp, "bench.test")
	build := exec.Command("go", "test", "-c", "-o", binary, ".")
	build.Dir, build.Stderr = dir, os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("go test -c in %s: %w", dir, err)
	}
	r := &results{values: make(map[string]map[string][]float64)}
	for i := range count {
		fmt.Fprintf(os.Stderr, "tables: %s, round %d of %d\n", dir, i+1, count)
		c := exec.Command(binary, "-test.run", "^$", "-test.bench", pattern, "-test.benchtime", benchtime, "-test.benchmem")
		c.Dir, c.Stderr = dir, os.Stderr
		b, err := c.Output()
		if err != nil {
			return nil, fmt.Errorf("the benchmarks of %s: %w\n%s", dir, err, b)
		}
		r.parse(string(b))
	}
	return r, nil
}

// parse reads what go test -bench prints.
func (r *results) parse(text string) {
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		if cpu, ok := strings.CutPrefix(lines.Text(), "cpu: "); ok {
			r.cpu = cpu
		}
		f := strings.Fields(lines.Text())
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(f[0], "Benchmark")
		name = strings.TrimSuffix(name, "-"+strconv.Itoa(runtime.GOMAXPROCS(0)))
		if r.values[name] == nil {
			r.names = append(r.names, name)
			r.values[name] = make(map[string][]float64)
		}
		for i := 2; i+1 < len(f); i += 2 {
			if v, err := strconv.ParseFloat(f[i], 64); err == nil {
				r.values[name][f[i+1]] = append(r.values[name][f[i+1]], v)
			}
		}
	}
}

func head(w *bytes.Buffer, cpu string, count int, benchtime string) {
	fmt.Fprintf(w, `# Measured against peers

This page is written by `+"`make bench-docs`"+`, from one run in which everybody takes turns. Machine: %s, %d processors, %s/%s, %s. Medians of %d rounds, %s for each benchmark in a round. Use the ratios: the absolute numbers are those of this machine, and on a shared one differences below half are none.

`, cpu, runtime.GOMAXPROCS(0), runtime.GOOS, runtime.GOARCH, runtime.Version(), count, benchtime)
}

func compare(w *bytes.Buffer, r *results, versions map[string]string) {
	fmt.Fprintf(w, `## One decision

Take a permit and give it back, never full; by one goroutine, and by as many as there are processors (wall time of an operation). Then the same when full: how much a refusal costs. Plimsoll's decision reads the clock twice, once an admission and once a release; what that alone costs is the last row.

| | version | knows | admit + release | × semaphore | in parallel | refuse | allocations: admit, refuse |
|---|---|---|---:|---:|---:|---:|---:|
`)
	reference, _ := r.median("Admit/x/sync/semaphore", "ns/op")
	for _, p := range bench.Peers() {
		key := strings.ReplaceAll(p.Name, " ", "_")
		version := versions[p.Module]
		switch p.Module {
		case "":
			version = runtime.Version()
		case "github.com/plimsoll-go/plimsoll":
			version = "this one"
		}
		ratio := "–"
		if v, ok := r.median("Admit/"+key, "ns/op"); ok && reference > 0 {
			ratio = fmt.Sprintf("%.1f", v/reference)
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s | %s, %s |\n", p.Name, version, p.Knows,
			cell(r, "Admit/"+key, "ns/op", " ns"), ratio, cell(r, "AdmitParallel/"+key, "ns/op", " ns"),
			cell(r, "Refuse/"+key, "ns/op", " ns"), cell(r, "Admit/"+key, "allocs/op", ""), cell(r, "Refuse/"+key, "allocs/op", ""))
	}
}

func cell(r *results, name, unit, suffix string) string {
	v, ok := r.median(name, unit)
	if !ok {
		return "–"
	}
	return number(v) + suffix
}

// number writes three digits, and whole numbers as they are.
func number(v float64) string {
	switch {
	case v == float64(int64(v)):
		return strconv.FormatInt(int64(v), 10)
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
