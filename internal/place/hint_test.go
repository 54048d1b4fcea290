package place

import (
	"slices"
	"testing"

	"github.com/ontologia/onto"
)

// The command of a hint names the store, where a flag still can, unless it names one
// already or needs none.
func TestNameIn(t *testing.T) {
	here := Location{flag: flag{"--db", "my store.db"}}
	for _, c := range []struct{ command, want []string }{
		{nil, nil},
		{[]string{"commits"}, []string{"commits", "--db", "my store.db"}},
		{[]string{"log", "T", "a"}, []string{"log", "T", "a", "--db", "my store.db"}},
		{[]string{"log", "--", "T", "--db"}, []string{"log", "--db", "my store.db", "--", "T", "--db"}},
		{[]string{"doctor", "--db", "copy.db"}, []string{"doctor", "--db", "copy.db"}},
		{[]string{"doctor", "--storage-uri=s3://b"}, []string{"doctor", "--storage-uri=s3://b"}},
		{[]string{"put", "--help"}, []string{"put", "--help"}},
		{[]string{"--help"}, []string{"--help"}},
	} {
		given := onto.NewHint("do it", slices.Clone(c.command)...)
		if got := here.NameIn(given); !slices.Equal(got.Command, c.want) || got.Text != "do it" || !slices.Equal(given.Command, c.command) {
			t.Errorf("%q: got %q, want %q; the hint itself is %q", c.command, got.Command, c.want, given.Command)
		}
		if got := (Location{}).NameIn(given); !slices.Equal(got.Command, c.command) {
			t.Errorf("%q in the default place: got %q", c.command, got.Command)
		}
	}
}
