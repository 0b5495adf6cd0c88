package lab

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"
	"math"
)

const (
	// maxReportRows bounds the rows of a table that the report carries, and
	// with that its size; the CSV has them all.
	maxReportRows = 400
	// MaxReport is the size that a report stays under, in bytes.
	MaxReport = 250 << 10
)

//go:embed report.html
var reportPage string

// Data is the block of JSON in the report, and what --json prints: the manifest,
// and each table's rows as objects keyed by header, at most so many of a table;
// less than 0 is all.
func (o *Output) Data(rows int) ([]byte, error) {
	if rows < 0 {
		rows = math.MaxInt
	}
	var b bytes.Buffer
	manifest, err := json.Marshal(o.Manifest)
	if err != nil {
		return nil, err
	}
	b.WriteString(`{"manifest":`)
	b.Write(manifest)
	b.WriteString(`,"tables":[`)
	for i := range o.Findings.Tables {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := o.Findings.Tables[i].json(&b, rows); err != nil {
			return nil, err
		}
	}
	b.WriteString(`]}`)
	return b.Bytes(), nil
}

// json writes up to limit rows; left_out says how many more there are.
func (t *Table) json(b *bytes.Buffer, limit int) error {
	head, err := json.Marshal(struct {
		Name    string `json:"name"`
		File    string `json:"file"`
		LeftOut int    `json:"left_out"`
	}{t.Name, t.File, max(0, len(t.Rows)-limit)})
	if err != nil {
		return err
	}
	b.Write(head[:len(head)-1])
	b.WriteString(`,"rows":[`)
	for i, row := range t.Rows[:min(limit, len(t.Rows))] {
		if i > 0 {
			b.WriteByte(',')
		}
		for k, cell := range row {
			b.WriteByte("{,"[min(k, 1)])
			key, err := json.Marshal(t.Header[k])
			if err != nil {
				return err
			}
			b.Write(key)
			b.WriteByte(':')
			if err := writeCell(b, cell); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	}
	b.WriteString(`]}`)
	return nil
}

// writeCell writes a number as it is in the table, and everything else as a string.
func writeCell(b *bytes.Buffer, cell string) error {
	var n json.Number
	if json.Unmarshal([]byte(cell), &n) == nil && cell != "" && cell[0] != '"' && cell != "null" {
		b.WriteString(cell)
		return nil
	}
	text, err := json.Marshal(cell)
	b.Write(text)
	return err
}

// report is the page. Whatever comes from outside is escaped by html/template;
// json.Marshal leaves no < in the block of JSON, and the charts are our own.
func (o *Output) report() ([]byte, error) {
	data, err := o.Data(maxReportRows)
	if err != nil {
		return nil, err
	}
	page, err := template.New("report").Funcs(template.FuncMap{
		"svg": func(c *Chart) template.HTML { return template.HTML(c.SVG()) },
	}).Parse(reportPage)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = page.Execute(&b, struct {
		*Output
		Story    Story
		Duration string
		Data     template.JS
		MaxRows  int
	}{o, o.Findings.Story, human(o.Options.Duration), template.JS(data), maxReportRows})
	return b.Bytes(), err
}
