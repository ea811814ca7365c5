package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"

	"github.com/podorder/podorder/report"
	"github.com/podorder/podorder/report/picture"
)

// File is the name of the page in the folder of a report.
const File = "report.html"

//go:embed page.gohtml
var source string

//go:embed page.css
var style string

//go:embed page.js
var program string

var page = template.Must(template.New("page").Parse(source))

// HTML is the page of a report. dir is the folder of the report, where its traces are, and at is that folder
// as the reader writes it. A trace that cannot be read leaves a note in its cell.
func HTML(r *report.Report, dir, at string) ([]byte, error) {
	v := newView(r)
	pieces, err := pack(r, dir, at, v)
	if err != nil {
		return nil, err
	}
	index, err := json.Marshal(v.index())
	if err != nil {
		return nil, fmt.Errorf("encoding the index of the page: %w", err)
	}
	css := style + picture.CSS
	v.Policy = fmt.Sprintf("default-src 'none'; img-src data:; style-src 'sha256-%s'; script-src 'sha256-%s'; base-uri 'none'; form-action 'none'", digest(css), digest(program))
	// These four are made here, whole: the policy holds their digests, and the data is safe as it is, base64
	// and JSON without any of <, > and &.
	v.Style = template.HTML("<style>" + css + "</style>")
	v.Program = template.HTML("<script>" + program + "</script>")
	v.Legend = template.HTML(picture.Legend())
	var data bytes.Buffer
	fmt.Fprintf(&data, `<script type="application/json" id="index">%s</script>`+"\n", index)
	for i, piece := range pieces {
		if piece != "" {
			fmt.Fprintf(&data, `<script type="application/octet-stream" id="data-%d">%s</script>`+"\n", i, piece)
		}
	}
	v.Data = template.HTML(data.String())
	var b bytes.Buffer
	if err := page.Execute(&b, v); err != nil {
		return nil, fmt.Errorf("writing the page: %w", err)
	}
	return b.Bytes(), nil
}

// digest is what a content policy names a script or style by.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base64.StdEncoding.EncodeToString(sum[:])
}
