package onto_test

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/ontologia/onto"
)

func TestHintOf(t *testing.T) {
	inner := onto.Errorf(onto.Full, "disk full").WithHint("free %d MB", 5)
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"none", nil, ""},
		{"another error", io.EOF, ""},
		{"without", onto.Errorf(onto.Full, "x"), ""},
		{"its own", inner, "free 5 MB"},
		{"of the cause", onto.Errorf(onto.Unavailable, "commit: %w", inner), "free 5 MB"},
		{"its own first", onto.Errorf(onto.Unavailable, "commit: %w", inner).WithHint("wait"), "wait"},
		{"through other wrappers", fmt.Errorf("a: %w", onto.Errorf(onto.Closed, "b: %w", fmt.Errorf("c: %w", inner))), "free 5 MB"},
	} {
		if got := onto.HintOf(c.err).String(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// A command comes out as the arguments that went in, and as a line to paste.
func TestHintWithACommand(t *testing.T) {
	err := onto.Errorf(onto.NotFound, "gone").WithHint("see its versions").WithCommand("log", "Person", "Ada L.")
	hint := onto.HintOf(fmt.Errorf("get: %w", err))
	if hint.Text != "see its versions" || !slices.Equal(hint.Command, []string{"log", "Person", "Ada L."}) {
		t.Errorf("got %q and %q", hint.Text, hint.Command)
	}
	if got, want := hint.String(), "see its versions: onto log Person 'Ada L.'"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if again := onto.HintOf(err.WithHint("wait")); again.String() != "wait" {
		t.Errorf("got %q, want the new hint without the old command", again)
	}
}
