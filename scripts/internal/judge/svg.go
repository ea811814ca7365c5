package judge

import (
	"fmt"
	"io"
	"os"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
	"github.com/podorder/podorder/report/picture"
)

// mostDrawn is how many entries a picture may have. No one can look at more.
const mostDrawn = 20_000

// forPicture reads a log again that was judged without being held in memory, if it is to be drawn.
func (in *input) forPicture(o options) error {
	if o.svg == "" {
		return nil
	}
	if _, err := in.log.Seek(0, io.SeekStart); err != nil {
		return err
	}
	var err error
	in.trace, err = trace.ReadLog(in.log, o.kubernetes)
	return err
}

// finish draws the picture, where one is asked for, and prints the verdict.
func (in *input) finish(v reference.Verdict, o options, stdout, stderr io.Writer) int {
	status := print(v, o, stdout, stderr)
	if o.svg == "" {
		return status
	}
	if err := in.draw(v, o.svg); err != nil {
		return fail(stderr, fmt.Errorf("-svg: %w", err))
	}
	return status
}

// draw writes the picture of the recording to a file.
func (in *input) draw(v reference.Verdict, path string) error {
	if in.trace == nil || len(in.trace.Entries) == 0 {
		return fmt.Errorf("there is nothing to draw")
	}
	if n := len(in.trace.Entries); n > mostDrawn {
		return fmt.Errorf("a picture has room for %d entries, and this recording has %d", mostDrawn, n)
	}
	pod := in.pod
	if pod == nil {
		pod = in.trace.Admitted()
	}
	p := picture.Of(pod, in.trace, v)
	return os.WriteFile(path, []byte(p.SVG(p.Axis())), 0o644)
}
