package shell_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/ontologia/onto/internal/shell"
)

// A shell reads each line as the arguments that it was made of.
func TestAShellReadsTheSame(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"a", "", "a b", "it's", `"q"`, "$HOME", "*", "a\nb", "-x", "--key=v", "=v", "~", "ä", "a;b", `\`}
	out, err := exec.CommandContext(t.Context(), sh, "-c", `printf '%s\0' `+shell.Line(args)).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(out), strings.Join(args, "\x00")+"\x00"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := shell.Line([]string{"log", "T", "a@b", "--instance=2026"}); got != "log T a@b --instance=2026" {
		t.Errorf("got %s, want no quotes", got)
	}
}
