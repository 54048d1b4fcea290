package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/shell"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

func demoCommand(c *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Tell a story on a small store, and leave it to explore",
		Long: `Demo makes a store in a new file (demo.db, or demo-2.db if that is taken, or
what --db says), commits a small story to it, asks it questions, and lets handlers
react to an event. Each answer stands below the command that gave it. No existing file
is touched.`,
		Example: `  onto demo
  onto demo --db story.db`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd.Context(), c) },
	}
}

func demo(ctx context.Context, c *session.Session) error {
	if c.JSON {
		return onto.Errorf(onto.Invalid, "the demo is a story for people and has no JSON").WithHint("leave out --json")
	}
	if _, err := c.Configure(); err != nil {
		return err // before the file is made, since the questions need it
	}
	path, err := demoPath(c)
	if err != nil {
		return err
	}
	t := teller{c: c, path: path, name: programName()}
	if err := t.live(ctx); err != nil {
		return err
	}
	return t.tell(ctx)
}

// demoPath is a path where there is no file yet. Configured settings are ignored: the
// demo stays away from stores in use.
func demoPath(c *session.Session) (string, error) {
	loc, named, err := c.Flags.Location()
	switch {
	case err != nil:
		return "", err
	case loc.IsLake():
		return "", onto.Errorf(onto.Invalid, "the demo leaves a SQLite file, and a lake is none").WithHint("name a file with --db, or none")
	case loc.InMemory():
		return "", onto.Errorf(onto.Invalid, "the demo leaves a file, which :memory: cannot")
	case named && !vacant(loc.Path):
		return "", onto.Errorf(onto.Conflict, "%s exists, and the demo overwrites nothing", loc.Path).
			WithHint("name another file with --db, or remove this one first")
	case named:
		return loc.Path, nil
	}
	path := "demo.db"
	for n := 2; ; n++ {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o666) // reserved at once, also among concurrent demos
		if err == nil {
			return path, f.Close()
		}
		if !os.IsExist(err) {
			return "", onto.Errorf(onto.ReadOnly, "%s cannot be made: %w", path, err).WithHint("go to a directory that can be written, or name a file with --db")
		}
		path = fmt.Sprintf("demo-%d.db", n)
	}
}

// vacant reports whether there is nothing at a path, or an empty file.
func vacant(path string) bool {
	info, err := os.Stat(path)
	return os.IsNotExist(err) || err == nil && info.Mode().IsRegular() && info.Size() == 0
}

// teller prints the story of one store.
type teller struct {
	c    *session.Session
	path string // of the store
	name string // of this program, as the reader can type it
}

// live makes the commits of the story.
func (t *teller) live(ctx context.Context) error {
	b, err := place.Location{Path: t.path}.Open(ctx, place.Creating, place.Settings{}, place.Opener{})
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, b, onto.TypeOf[Customer](), onto.TypeOf[Product](), onto.TypeOf[Subscription](), onto.TypeOf[Order]())
	if err != nil {
		return err
	}
	for _, chapter := range story() {
		if _, err := s.Commit(ctx, chapter.draft); err != nil {
			s.Close()
			return err
		}
	}
	return s.Close()
}

// tell prints what happened, asks the questions and says how to continue.
func (t *teller) tell(ctx context.Context) error {
	t.line("%s", opening)
	for i, chapter := range story() {
		t.line("  commit %d  %-15s %s", i+1, chapter.draft.Actor, chapter.draft.Comment)
		if chapter.args != "" {
			t.line("    %s", t.command(chapter.args))
		}
	}
	for _, q := range questions() {
		if err := t.ask(ctx, q); err != nil {
			return err
		}
	}
	if err := t.react(ctx); err != nil {
		return err
	}
	t.line("")
	t.line("%s", t.c.Out.Paint(terminal.Bold, "Your turn. The store is in "+t.path+"; try:"))
	for _, args := range invitations() {
		t.line("  %s", t.command(args))
	}
	return nil
}

// ask prints a question, the command that answers it, and the answer.
func (t *teller) ask(ctx context.Context, q question) error {
	t.line("")
	t.line("%s", t.c.Out.Paint(terminal.Bold, q.text))
	t.line("  %s", t.command(shell.Line(q.args)))
	return t.answer(ctx, q.args)
}

// line prints a line of the story; a failed write shows when it is flushed.
func (t *teller) line(format string, args ...any) { _ = t.c.Out.Line(format, args...) }

// command is a command on the demo's store, as a reader can type it.
func (t *teller) command(args string) string {
	args, other, has := strings.Cut(args, " -- ")
	args += " --db " + shell.Word(t.path)
	if has {
		args += " -- " + other
	}
	return t.c.Out.Paint(terminal.Cyan, t.name+" "+args)
}

// programName is how the reader can call this program again.
func programName() string {
	if _, err := exec.LookPath("onto"); err == nil {
		return "onto"
	}
	if !strings.Contains(filepath.ToSlash(os.Args[0]), "/go-build") {
		return shell.Word(os.Args[0])
	}
	if _, err := os.Stat("cmd/onto"); err == nil {
		return "go run ./cmd/onto"
	}
	return "go run github.com/ontologia/onto/cmd/onto"
}

// answer runs a command, for the story to show what it really prints, messages included.
func (t *teller) answer(ctx context.Context, args []string) error {
	var text strings.Builder
	sub := &session.Session{Printer: terminal.NewPrinter(&text, &text), In: strings.NewReader("")}
	sub.Out.Colour = t.c.Out.Colour
	if err := execute(ctx, sub, append(slices.Clip(args), "--db", t.path)); err != nil {
		return err
	}
	if err := sub.Out.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		t.line("    %s", strings.TrimSuffix(line, "\n"))
	}
	return nil
}
