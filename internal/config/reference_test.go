package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

const referenceFile = "../../docs/reference/config.md"

const referenceIntro = `# The configuration file

<!-- Written by "go test ./internal/config -run TestReference -rewrite" from the table that the reader uses. -->

YAML, read strictly: an unknown key, a key said twice, a wrong type or unit, a number out of range or a name that refers to nothing is an error, and nothing starts. Every error says file, line, column, key, what is wrong and what is allowed; all errors of a file are said at once (up to 20). ` + "`plimsoll check FILE`" + ` reads and refuses exactly as ` + "`plimsoll serve`" + ` does, files of TLS and the place of the access log included, and adds what a valid file cannot deliver; only what binding alone can tell, such as an address that is in use, is left to ` + "`serve`" + `.

A reload (SIGHUP) with a bad file keeps the old configuration whole, and is counted. Keys marked **Restart** take effect at a restart only; a reload with another value says so, applies the rest, and goes on saying so until file and server agree.

- A duration has its unit: ` + "`200ms`, `1.5s`, `2m`, `1h30m`" + `. A bare 0 is allowed where 0 is.
- A size has its unit: ` + "`8MiB`, `64kB`" + `.
- Numbers are written in decimal digits and without quotes.
- Anchors, aliases and merges (` + "`<<: *name`" + `) work; tags, directives and a second document do not.
- A value that begins with ` + "`*`" + ` needs quotes, or YAML takes it for an alias.
- Nothing is filled in: no environment variables, no templates, no other files. Invisible characters stand in comments only.
- The order of pools, classes and rules is that of the file. A file has at most 256 KiB.
- Names of pools and classes are letters, digits, ` + "`_ - .`" + `, at most 63, beginning with a letter or digit.

[plimsoll.example.yaml](plimsoll.example.yaml) has every key with a comment. NAME stands for a name of your own.

`

// warningDocs say what each warning is about, by its code.
func warningDocs() []struct{ code, level, about string } {
	return []struct{ code, level, about string }{
		{"nothing-to-evict", "warn", "door `priority` where nobody waits, all share a rank, or no lower rank may wait"},
		{"nothing-expendable", "warn", "several ranks, and every class has an objective; with a single rank a hint: the objective holds only below capacity"},
		{"no-objective", "warn", "the most critical of several ranks promises nothing"},
		{"ranks-unused", "warn", "several ranks, and neither door nor order nor a reserve looks at them"},
		{"one-rank", "hint", "order `priority` among equals"},
		{"waiting-too-long", "warn", "more calls in the system than end within the deadline: floor(workers ÷ expected × (deadline − margin))"},
		{"waiting-unreachable", "hint", "a class's own waiting bound above its pool's"},
		{"deadline-too-short", "warn", "a deadline that the service time alone, or with its margin, uses up"},
		{"no-deadline", "warn", "a class whose calls may wait and run without end"},
		{"no-slots", "warn", "a pool that refuses everything"},
		{"reserved-away", "warn", "a class that can never run, because others reserve every slot"},
		{"all-reserved", "hint", "reserves that leave no slot to share"},
		{"turn-around", "hint", "as many slots as workers: a worker idles between answer and next request"},
		{"queue-behind", "hint", "far more slots than workers: calls queue at the upstream, where nobody decides"},
		{"expected-unknown", "hint", "the service time is learnt, and until then nothing is hopeless"},
		{"unreachable", "warn", "a class that no rule, header or default leads to"},
		{"rule-shadowed", "warn", "a rule after one that holds whenever it does"},
		{"claimable", "warn", "a header from anybody gives a class that is more critical than another"},
		{"header-withheld", "warn", "a rule for trusted peers reads a header that services commonly read, and that others' requests then lose"},
		{"trust-everyone", "warn", "trust in 0.0.0.0/0 or ::/0"},
		{"nobody-trusted", "warn", "headers to believe, and nobody who is believed"},
		{"idle-timeout", "warn", "idle connections closed within the 60s that common balancers keep theirs"},
		{"header-timeout", "warn", "the upstream's header timeout is shorter than a deadline"},
		{"drain-grace", "warn", "the drain is shorter than a deadline"},
		{"no-admin", "hint", "nobody can look"},
	}
}

// reference writes the page from the table that the reader uses.
func reference() string {
	var b strings.Builder
	b.WriteString(referenceIntro)
	b.WriteString("## Top level\n\n| key | allowed | default | meaning |\n|---|---|---|---|\n")
	var order []string
	rows := map[string][]string{}
	walk("", (&draft{}).fields(), func(path string, f field) {
		at := ""
		if i := strings.LastIndexByte(path, '.'); i > 0 {
			at = path[:i]
		}
		if strings.HasSuffix(at, ".statuses") {
			return
		}
		if rows[at] == nil && at != "" {
			order = append(order, at)
		}
		rows[at] = append(rows[at], row(path, f))
	})
	b.WriteString(strings.Join(rows[""], ""))
	for _, at := range order {
		fmt.Fprintf(&b, "\n## %s\n\n| key | allowed | default | meaning |\n|---|---|---|---|\n%s", at, strings.Join(rows[at], ""))
	}
	b.WriteString("\n## Warnings\n\nWhat a valid file cannot deliver is a `warn`; what could be had better or cheaper is a `hint`. `plimsoll check --strict` fails on a `warn`. Each message has the numbers worked out.\n\n| code | level | when |\n|---|---|---|\n")
	for _, w := range warningDocs() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", w.code, w.level, w.about)
	}
	return b.String()
}

func row(path string, f field) string {
	key := path[strings.LastIndexByte(path, '.')+1:]
	allowed := strings.TrimSuffix(f.value.allowed(), ",")
	switch v := f.value.(type) {
	case section:
		allowed = fmt.Sprintf("[keys](#%s)", anchor(path))
		if v.noun != "" {
			allowed = "a mapping from a reason (" + allKeys(v) + ") to a number from 400 to 599"
		}
	case named:
		allowed = fmt.Sprintf("[keys](#%s) by name", anchor(path+".NAME"))
	case list:
		if s, ok := v.each(0).(section); ok && s.noun == "" {
			allowed = fmt.Sprintf("a list of [keys](#%s)", anchor(path+"[]"))
		} else {
			allowed = "a list of " + strings.TrimSuffix(v.each(0).allowed(), ",")
		}
	}
	def := f.absent
	switch {
	case f.need:
		def = "**needed**"
	case f.def != "":
		def = "`" + f.def + "`"
	}
	doc := f.doc
	if f.restart {
		doc += " **Restart.**"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", key, allowed, def, doc)
}

func allKeys(s section) string {
	var keys []string
	for _, f := range s.fields {
		keys = append(keys, "`"+f.key+"`")
	}
	return strings.Join(keys, ", ")
}

// anchor is what a heading is called in a link.
func anchor(heading string) string {
	return regexp.MustCompile(`[^a-z0-9_-]`).ReplaceAllString(strings.ToLower(heading), "")
}

func TestReference(t *testing.T) {
	want := reference()
	if *rewrite {
		if err := os.WriteFile(referenceFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("%s is not what the reader does (-rewrite writes it)\n%s", referenceFile, d)
	}
}

// Every warning that exists is in the reference, and every one in the
// reference is produced by a script.
func TestWarningCodes(t *testing.T) {
	documented, produced := map[string]bool{}, map[string]bool{}
	for _, w := range warningDocs() {
		documented[w.code] = true
	}
	names, err := filepath.Glob("testdata/warn/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range mustParse(t, string(a.Files[0].Data)).Warnings {
			produced[w.Code] = true
			if !documented[w.Code] {
				t.Errorf("%s: warning %s is not in the reference", name, w.Code)
			}
		}
	}
	for code := range documented {
		if !produced[code] {
			t.Errorf("no script shows warning %s", code)
		}
	}
}

// The example has every key, says nothing that cannot be delivered, and what
// it claims to be the default is the default.
func TestExample(t *testing.T) {
	data, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(nil, nil)
	text, _ := r.decodeText(data)
	root := r.readTree(text)
	c, err := r.finish("example", root)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range c.Warnings {
		t.Errorf("%v", w)
	}
	given := map[string]bool{}
	for path := range r.marks {
		path = regexp.MustCompile(`\[\d+\]`).ReplaceAllString(path, "[]")
		given[regexp.MustCompile(`^(pools|classes)\.[^.]+`).ReplaceAllString(path, "$1.NAME")] = true
	}
	walk("", (&draft{}).fields(), func(path string, f field) {
		if !given[path] && !strings.Contains(path, ".statuses.") {
			t.Errorf("the example lacks %s", path)
		}
	})
	bare := mustParse(t, small)
	for _, same := range [][2]any{
		{c.Timeouts, bare.Timeouts}, {c.Drain, bare.Drain}, {c.AccessLog, bare.AccessLog}, {c.Streams, bare.Streams},
		{c.OnAbandon, bare.OnAbandon}, {c.HoldMax, bare.HoldMax}, {c.AheadBytes, bare.AheadBytes},
		{c.Upstream, bare.Upstream},
	} {
		if !reflect.DeepEqual(same[0], same[1]) {
			t.Errorf("the example has %+v, and the default is %+v", same[0], same[1])
		}
	}
}

// Every field of Config is set by some key: with a file that has nothing but
// values other than zero, no field is zero.
func TestEveryFieldHasAKey(t *testing.T) {
	data, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := mustParse(t, string(data))
	c.Warnings = []Warning{{}}
	zero(t, "Config", reflect.ValueOf(*c))
}

func zero(t *testing.T, path string, v reflect.Value) {
	if v.Type().PkgPath() == "net/url" || v.Type().PkgPath() == "net/netip" {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			name := path + "." + v.Type().Field(i).Name
			switch {
			case name == "Config.Gate.Observer", name == "Config.Gate.Alarm": // are the server's
			case strings.HasPrefix(name, "Config.Warnings"):
			case name == "Config.TLS.Pair": // is in the files
			case strings.HasSuffix(name, ".Classes.NoWaiting"): // is said by waiting: 0
			default:
				zero(t, name, v.Field(i))
			}
		}
	case reflect.Pointer:
		if v.IsNil() {
			t.Errorf("no key sets %s", path)
			return
		}
		zero(t, path, v.Elem())
	case reflect.Slice:
		if v.Len() == 0 {
			t.Errorf("no key sets %s", path)
			return
		}
		zero(t, path, v.Index(0))
	default:
		if v.IsZero() || v.Kind() == reflect.Map && v.Len() == 0 {
			t.Errorf("no key sets %s", path)
		}
	}
}
