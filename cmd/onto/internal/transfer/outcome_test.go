package transfer

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/store/records"
)

func TestWhatAPlanSaysBesidesNumbers(t *testing.T) {
	var stderr bytes.Buffer
	c := session.New(nil, io.Discard, &stderr)
	explainOutcome(c, onto.Draft{}, &records.Outcome{Conflicts: 30, First: make([]records.Conflict, records.MaxConflicts), Untracked: 5}, true)
	for _, want := range []string{"and 10 more\n", "the last 5 records were not compared with earlier ones; an apply does that\n"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("got %q, want %q in it", &stderr, want)
		}
	}
}
