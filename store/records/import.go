package records

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/suggest"
	"github.com/ontologia/onto/store"
)

// Policy says what happens to an identity that exists with other fields than its record
// has. A record that deletes is applied under every policy. A fact is never replaced:
// Upsert is Abort for it.
type Policy string

// The policies. None means Abort.
const (
	Abort  Policy = "abort"  // store nothing at all
	Skip   Policy = "skip"   // leave the identity as it is
	Upsert Policy = "upsert" // replace its fields; a row of CSV replaces those that it has a value for
)

// Precondition is what every identity of an import must fulfil.
type Precondition string

// The preconditions.
const (
	NoPrecondition Precondition = ""
	MustExist      Precondition = "must_exist"
	MustNotExist   Precondition = "must_not_exist"
)

// ImportOptions say what is imported and how. Nil and the zero value import
// JSON Lines and abort at a conflict.
type ImportOptions struct {
	Format       Format
	Type         string // CSV: what the rows are; JSON Lines: that of plain objects, "" for records; of Rows: that of the facts
	Delimiter    byte   // CSV: what separates the cells; 0 for a comma
	OnConflict   Policy
	Precondition Precondition

	// EmptyClears says what an empty cell of CSV means for an entity or a relation that
	// exists: its field is emptied, or gets its default. Otherwise it stays as it is.
	EmptyClears bool

	// Rows, if not nil, says that the text is a table, whose cells are brought in as
	// facts. Then a record is one cell that has a value, without those that repeat
	// an earlier one.
	Rows *Rows

	// Reject, if not nil, is called with each record, or row of a table, that cannot be
	// imported as it stands; it is left out then, unless an error is returned, which ends
	// the import. Without it, the first such record ends the import. What conflicts with
	// the store is decided by OnConflict and Precondition, and is not rejected.
	Reject func(Reject) error

	// Draft has what is said about the commit, and expectations. It has no
	// intents: the records are.
	Draft onto.Draft

	// Progress, if not nil, is called now and then with how many records and
	// bytes of text were read.
	Progress func(records, bytes int64)
}

// Outcome tells what an import did, or would do. Each record is counted once
// among inserts, updates, unchanged, deletes, skipped, conflicts and repeated;
// only Records is counted when an idempotency key is used again.
type Outcome struct {
	Records   int64
	Inserts   int64
	Updates   int64
	Unchanged int64 // what is there already
	Deletes   int64
	Skipped   int64 // left alone because of the policy
	Conflicts int64 // refused because of the policy or the precondition
	Repeated  int64 // the same as an earlier record
	Rejected  int64 // left out because they are bad; these are not among the records

	// Emptied counts the fields of updated things that have no value any more, or the
	// default of their type in place of another value.
	Emptied int64

	// First has the first conflicts of a plan, at most MaxConflicts.
	First []Conflict

	// Untracked counts the records of a very long import that were not compared with
	// earlier ones. A commit compares them all the same.
	Untracked int64

	Result onto.Result // of a plan: zero
}

// MaxConflicts is how many conflicts an outcome lists.
const MaxConflicts = 20

// Conflict is a record that cannot be imported.
type Conflict struct {
	Identity onto.Identity
	File     string // "" if there is only one
	Line     int64  // 0 if it is not known
	Reason   string
}

// String describes the conflict with its line.
func (c Conflict) String() string {
	if c.Line == 0 {
		return fmt.Sprintf("%s %s", c.Identity, c.Reason)
	}
	if c.File == "" {
		return fmt.Sprintf("line %d: %s %s", c.Line, c.Identity, c.Reason)
	}
	return fmt.Sprintf("%s: line %d: %s %s", c.File, c.Line, c.Identity, c.Reason)
}

// Import reads records and makes them true as one commit, or none if they change
// nothing. An error in a record names its line, and then nothing is stored. The reader
// is read to its end before anything is locked. It may be a [Folder].
func Import(ctx context.Context, s *store.Store, r io.Reader, o *ImportOptions) (Outcome, error) {
	f, err := newFeed(ctx, s, r, o)
	if err != nil {
		return Outcome{}, err
	}
	res, err := s.CommitStreamWith(ctx, f.opts.Draft, f.things(), &store.StreamOptions{Admit: f.admit, Begin: f.out.restart, Imported: true})
	if err != nil {
		return Outcome{}, f.explain(err)
	}
	f.out.Result = res
	return f.out, nil
}

// Plan reads records and tells what Import would do with them at this moment.
// It changes nothing. Conflicts are counted, not returned as an error.
func Plan(ctx context.Context, s *store.Store, r io.Reader, o *ImportOptions) (Outcome, error) {
	f, err := newFeed(ctx, s, r, o)
	if err == nil {
		err = checkConditions(ctx, s, f.opts.Draft)
	}
	if err != nil {
		return Outcome{}, err
	}
	for p, err := range s.Preview(ctx, f.things()) {
		if err != nil {
			return Outcome{}, f.explain(err)
		}
		if v := f.opts.judge(&p); !f.count(v, &p) {
			f.out.note(f.conflict(p.Identity, f.seen.line(p.Identity), v.reason))
		}
	}
	return f.out, nil
}

// conflict describes a record of a line that cannot be imported.
func (f *feed) conflict(id onto.Identity, line int64, reason string) Conflict {
	file, line := f.files.place(line)
	return Conflict{id, file, line, reason}
}

// checkConditions checks the conditions of a draft. Whether its idempotency key was used
// for the same records is not known before they are read.
func checkConditions(ctx context.Context, s *store.Store, d onto.Draft) error {
	d.IdempotencyKey = ""
	plan, err := s.PlanCommit(ctx, d)
	if err != nil {
		return err
	}
	return plan.Err
}

// check returns the options with their defaults, or what is wrong with them.
func (o *ImportOptions) check() (ImportOptions, error) {
	var opts ImportOptions
	if o != nil {
		opts = *o
	}
	var err error
	if opts.Format, err = opts.Format.check(); err != nil {
		return opts, err
	}
	if opts.Delimiter, err = opts.delimiter(); err != nil {
		return opts, err
	}
	if opts.OnConflict == "" {
		opts.OnConflict = Abort
	}
	if opts.EmptyClears && (opts.Format != CSV || opts.Rows != nil) {
		return opts, onto.Errorf(onto.Invalid, "only records in CSV have empty cells that can empty fields").
			WithHint("leave out --empty-clears; in JSON Lines a field that is null or absent is emptied")
	}
	err = oneOf("conflict policy", opts.OnConflict, Abort, Skip, Upsert)
	if err == nil && opts.Precondition != NoPrecondition {
		err = oneOf("precondition", opts.Precondition, MustExist, MustNotExist)
	}
	if err != nil {
		return opts, err
	}
	for range opts.Draft.Intents() {
		return opts, onto.Errorf(onto.Invalid, "the draft of an import has intents of its own").WithHint("commit them apart from the import")
	}
	return opts, nil
}

// delimiter is what separates the cells of CSV.
func (o *ImportOptions) delimiter() (byte, error) {
	switch d := o.Delimiter; {
	case d == 0:
		return ',', nil
	case o.Format != CSV:
		return 0, onto.Errorf(onto.Invalid, "a delimiter is for CSV, not for %s", o.Format).WithHint("leave it out, or say --format csv")
	case d == '"' || d != '\t' && (d <= ' ' || d > '~') || d >= '0' && d <= '9' || d|0x20 >= 'a' && d|0x20 <= 'z':
		return 0, onto.Errorf(onto.Invalid, "the delimiter %q cannot separate cells", d).WithHint("use a comma, a semicolon, a tab or |")
	default:
		return d, nil
	}
}

// oneOf refuses a word that is not among those known.
func oneOf[W ~string](what string, word W, known ...W) error {
	names := make([]string, len(known))
	for i, k := range known {
		if k == word {
			return nil
		}
		names[i] = string(k)
	}
	err := onto.Errorf(onto.Invalid, "%s %.80q is unknown", what, string(word))
	if near := suggest.Name(string(word), names); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	return err.WithHint("use %s or %s", strings.Join(names[:len(names)-1], ", "), names[len(names)-1])
}
