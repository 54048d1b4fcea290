package change

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/uuid"
	"github.com/ontologia/onto/store"
)

// Fact is the verb fact: what is believed, and for which time.
func Fact(c *session.Session) *cobra.Command {
	cmd := session.Group("fact", "Assert facts, retract what was wrong, revoke what has ended", `  onto fact assert Contract ada salary 4000 --from 2026-01-01
  onto fact retract Contract/ada/salary/f1 --comment "misread the scan"
  onto fact revoke Contract/ada/salary/f1 --at 2026-09-01 --comment "she left"`,
		assertCommand(c), retractCommand(c), revokeCommand(c))
	cmd.Long = `A fact says that an attribute of a subject has a value for some time. Facts are never
overwritten. A later fact on the same attribute speaks in place of an earlier one, for
the time that both are about.

Retract a fact that was wrong: it is not believed any more, and never was. Revoke a
fact that has ended: it was right until then. Earlier moments show what was believed
then, either way.

A fact is referred to by one word, REF: Type/subject/attribute/id. Answers to
questions about facts have it, and it can be given to log and blame as well.`
	return cmd
}

// noFacts is the error for a type of facts where another kind belongs.
func noFacts(typ, why string) error {
	return onto.Errorf(onto.Invalid, "%s is a type of facts, %s", typ, why).
		WithHint("assert them").WithCommand("fact", "assert", typ, "SUBJECT", "ATTRIBUTE", "JSON")
}

type assertFlags struct {
	session.WriteFlags
	from, until, id, kind string
}

func assertCommand(c *session.Session) *cobra.Command {
	var f assertFlags
	cmd := &cobra.Command{
		Use:   "assert TYPE SUBJECT ATTRIBUTE JSON",
		Short: "Say what an attribute of a subject is, as one commit",
		Long: `Assert says that an attribute of a subject has a value: from --from on, before
--until. Without them it has no bound. In place of JSON, - reads the value from stdin.

A new fact speaks in place of those asserted before it for all the time that it holds.
Without --until this includes values that are known of later times: a salary asserted
from February on, without an end, speaks in July as well, although another one was
asserted before from July on. To state only the time in between, give --until. A row of
onto import --facts ends by itself where a later one begins.

With --id the fact can be asserted again without a change; an id that is known with
another value or time is refused. Without --id one is made, and told on stderr as part
of the reference to the fact; with --json it is among the facts.

It prints the commit id, or says that nothing changed.` + session.DryRunHelp,
		Example: `  onto fact assert Contract ada employer '"Acme"' --from 2026-01-01
  onto fact assert Contract ada salary 4000 --from 2026-01-01 --until 2026-07-01 --id contract-7
  onto fact assert Contract ada salary 4500 --from 2026-07-01 --kind raise --actor operator:ana
  onto fact assert Contract ada skill '"welding"' --idempotency-key form-17`,
		Args:              session.ArgCount(4),
		ValidArgsFunction: session.CompleteFact(c),
		RunE:              func(cmd *cobra.Command, args []string) error { return assert(c, cmd, &f, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "", "the `TIME` from which it holds: a date or a time, in UTC unless it says otherwise")
	flags.StringVar(&f.until, "until", "", "the `TIME` before which it holds")
	flags.StringVar(&f.id, "id", "", "the `ID` of the fact, which tells it from others on the attribute (default made up)")
	flags.StringVar(&f.kind, "kind", "", "your `WORD` for what has happened, such as accepted")
	f.Register(cmd)
	f.RegisterDryRun(cmd)
	return cmd
}

func assert(c *session.Session, cmd *cobra.Command, f *assertFlags, args []string) error {
	d, err := f.Draft(c, cmd)
	if err != nil {
		return err
	}
	fact := onto.Fact{Type: args[0], Subject: args[1], Attribute: args[2], ID: f.id, Kind: f.kind}
	if fact.From, err = session.ParseTime("from", f.from); err != nil {
		return err
	}
	if fact.Until, err = session.ParseTime("until", f.until); err != nil {
		return err
	}
	text := args[3]
	if text == "-" {
		if text, err = readValue(c.Stdin(cmd.Context())); err != nil {
			return err
		}
	}
	if fact.Value, err = parseValue("the value", text); err != nil {
		return err
	}
	switch {
	case fact.ID == "" && d.IdempotencyKey != "":
		fact.ID = uuid.Placed(0, d.IdempotencyKey)
	case fact.ID == "":
		fact.ID = uuid.V7()
	}
	return c.Commit(cmd.Context(), &f.WriteFlags, d, func(s *store.Store, d onto.Draft) (onto.Draft, error) {
		return d.Assert(fact), session.IsFactType(s, fact.Type)
	})
}

// readValue reads one value, which is bounded as objects are.
func readValue(r io.Reader) (string, error) {
	var text strings.Builder
	n, err := io.Copy(&text, io.LimitReader(r, maxObject+1))
	if n > maxObject {
		return "", onto.Errorf(onto.TooLarge, "the value on stdin is larger than %d bytes", maxObject)
	}
	return text.String(), err
}

// parseValue reads a value that was typed.
func parseValue(what, text string) (json.RawMessage, error) {
	value, err := codec.AppendCanonical(nil, []byte(text))
	if err == nil {
		return value, nil
	}
	refused := onto.Errorf(onto.Invalid, "%s is not JSON: %w", what, err)
	if !json.Valid([]byte(text)) {
		return nil, refused.WithHint(`text needs double quotes, and in a shell single ones around them: '"Acme"'`)
	}
	return nil, refused
}

func retractCommand(c *session.Session) *cobra.Command {
	var w session.WriteFlags
	cmd := &cobra.Command{
		Use:   "retract REF...",
		Short: "Take back facts that were wrong, as one commit",
		Long: `Retract takes back facts that were wrong: from this commit on they are not believed,
for no time at all. Earlier moments still show them. What was right and has ended is
not retracted, but revoked. To undo a retraction, revert its commit.

It prints the commit id, or says that nothing changed.` + session.DryRunHelp,
		Example: `  onto fact retract Contract/ada/salary/f1 --comment "misread the scan"
  onto fact retract Contract/ada/salary/f1 Contract/ada/salary/f2 --actor operator:ana`,
		Args: session.ArgsFrom(1),
		RunE: func(cmd *cobra.Command, args []string) error { return retract(c, cmd, &w, args) },
	}
	w.Register(cmd)
	w.RegisterDryRun(cmd)
	return cmd
}

func retract(c *session.Session, cmd *cobra.Command, w *session.WriteFlags, refs []string) error {
	d, err := w.Draft(c, cmd)
	if err != nil {
		return err
	}
	var facts []onto.Identity
	for _, ref := range refs {
		id, err := onto.ParseFactRef(ref)
		if err != nil {
			return err
		}
		facts = append(facts, id)
	}
	return c.Commit(cmd.Context(), w, d, func(_ *store.Store, d onto.Draft) (onto.Draft, error) { return d.Retract(facts...), nil })
}

func revokeCommand(c *session.Session) *cobra.Command {
	var w session.WriteFlags
	var at, note string
	cmd := &cobra.Command{
		Use:   "revoke REF --at TIME",
		Short: "End a fact that was right until some time, as one commit",
		Long: `Revoke ends a fact: it held before --at, and does not from then on. It never makes a
fact hold longer. What never held is not revoked, but retracted.

It prints the commit id, or says that nothing changed.` + session.DryRunHelp,
		Example: `  onto fact revoke Contract/ada/salary/f1 --at 2026-09-01 --comment "she left"
  onto fact revoke Contract/ada/employer/f2 --at 2026-09-01T12:00:00Z --note '{"letter":"L-7"}'`,
		Args: session.ArgCount(1),
		RunE: func(cmd *cobra.Command, args []string) error { return revoke(c, cmd, &w, args[0], at, note) },
	}
	cmd.Flags().StringVar(&at, "at", "", "the `TIME` before which it held: a date or a time, in UTC unless it says otherwise")
	cmd.Flags().StringVar(&note, "note", "", "why, or by whom, as `JSON`; kept with the fact")
	w.Register(cmd)
	w.RegisterDryRun(cmd)
	return cmd
}

func revoke(c *session.Session, cmd *cobra.Command, w *session.WriteFlags, ref, at, note string) error {
	d, err := w.Draft(c, cmd)
	if err != nil {
		return err
	}
	id, err := onto.ParseFactRef(ref)
	if err != nil {
		return err
	}
	if at == "" {
		return onto.Errorf(onto.Invalid, "--at is missing").WithHint("give the time before which the fact held; if it never held, retract it")
	}
	end, err := session.ParseTime("at", at)
	if err != nil {
		return err
	}
	var why any // no note is nil, and not an empty text
	if note != "" {
		if why, err = parseValue("--note", note); err != nil {
			return err
		}
	}
	return c.Commit(cmd.Context(), w, d, func(_ *store.Store, d onto.Draft) (onto.Draft, error) { return d.Revoke(id, end, why), nil })
}
