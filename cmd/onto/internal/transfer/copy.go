package transfer

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/archive"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
)

// copyFlags is what a copy is asked for, as it was typed.
type copyFlags struct {
	sourceFlags
	from, to      string // as typed
	apply, verify bool
	until         int64
}

// Copy is the verb copy: a store with its whole past to another place.
func Copy(c *session.Session) *cobra.Command {
	var f copyFlags
	cmd := &cobra.Command{
		Use:   "copy FROM TO",
		Short: "Copy a store with its whole past to another place",
		Long: `Copy every commit, version, type and fact of the store FROM to TO, with their ids,
times, actors and idempotency keys. FROM and TO are paths of SQLite files or storage
URIs. Without --apply it tells what would be copied and what would stay behind: events,
claims and work items do.

FROM may also be a SQLite file of the original Ontologia, of both its engines, or of an
earlier format of this program. Such a file is only read, also while its program writes
to it, and nothing is left beside it. Names that are refused here are changed with
--rename. A row that cannot be stored here ends the copy; with --rejects it goes to a
file as it was, and its identity counts as deleted from then on. Each copy has a file of
its own for them. A type that the original has migrated has no upgrader: with --upgraders
its past is read as the type is now.

A copy is durable in batches. If it is interrupted, TO cannot be used as a store; the
same command goes on where it ended, and to give it up, remove TO. A copy that is
complete is a store of its own, with an id of its own. The same command later adds what
FROM has committed since, unless TO has commits of its own. --until ends the copy with an
earlier commit.

--verify compares a copy with its source and changes nothing: exit status 3 if they
differ. It prints a sum of all commits and versions, which is the same on every kind of
storage.`,
		Example: `  onto copy crm.db file:///var/lib/crm
  onto copy crm.db file:///var/lib/crm --apply
  onto copy crm.db s3://my-bucket/crm --until 1200 --apply
  onto copy old.db new.db --rename a-b=a_b --rejects bad.jsonl --apply
  onto copy crm.db file:///var/lib/crm --verify`,
		Args: session.ArgCount(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.from, f.to = args[0], args[1]
			return copyStore(cmd, c, &f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.apply, "apply", false, "copy")
	flags.BoolVar(&f.verify, "verify", false, "only compare TO with FROM")
	flags.Int64Var(&f.until, "until", 0, "the last `COMMIT` to copy or compare (default the newest)")
	f.sourceFlags.register(cmd)
	return cmd
}

func (f *copyFlags) check(cmd *cobra.Command) error {
	for _, name := range []string{"db", "storage-uri"} {
		if cmd.Flags().Changed(name) {
			return onto.Errorf(onto.Invalid, "copy takes no --%s: the arguments name both stores", name).WithHint("see its usage").WithCommand("copy", "--help")
		}
	}
	switch {
	case f.apply && f.verify:
		return onto.Errorf(onto.Invalid, "--apply and --verify cannot be combined").WithHint("copy first, then verify")
	case cmd.Flags().Changed("until") && f.until < 1:
		return onto.Errorf(onto.Invalid, "--until %d is no commit", f.until).WithHint("commits have the numbers 1, 2, 3, …")
	}
	return nil
}

// copying is one run of the verb.
type copying struct {
	*session.Session
	*copyFlags
	cfg      place.Settings
	source   place.Location
	target   place.Location
	archive  archive.Job
	released []io.Closer
}

func copyStore(cmd *cobra.Command, c *session.Session, f *copyFlags) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	cfg, err := c.Configure()
	if err != nil {
		return err
	}
	k := &copying{Session: c, copyFlags: f, cfg: cfg}
	if err := k.parse(); err != nil {
		return err
	}
	defer k.release()
	if err := k.open(cmd.Context()); err != nil {
		return err
	}
	switch {
	case f.verify:
		return k.verify(cmd.Context())
	case f.apply:
		return k.run(cmd.Context())
	}
	return k.plan(cmd.Context())
}

// parse reads the places.
func (k *copying) parse() (err error) {
	if k.source, err = place.Parse(k.from); err != nil {
		return err
	}
	if k.target, err = place.Parse(k.to); err != nil {
		return err
	}
	switch {
	case k.source.InMemory() || k.target.InMemory():
		return onto.Errorf(onto.Invalid, "a store in memory is gone when the command ends").WithHint("name a file, or a directory or bucket of a lake")
	case k.source.Same(k.target):
		return onto.Errorf(onto.Invalid, "%s is both the source and the target", k.source).WithHint("copy to another place")
	}
	return nil
}

// open opens both stores.
func (k *copying) open(ctx context.Context) error {
	from, err := k.openSource(ctx)
	switch onto.CodeOf(err) {
	case onto.Uninitialized:
		return onto.Errorf(onto.Uninitialized, "%w", err).WithHint("name the store to be copied")
	case onto.Corrupt:
		k.About(k.source)
	}
	if err != nil {
		return err
	}
	k.About(k.source)
	flags, err := k.sourceFlags.text()
	if err != nil {
		return err
	}
	k.archive = archive.Job{From: from, Until: k.until, Flags: flags}
	switch {
	case k.copyFlags.verify:
		k.archive.To, err = k.openTarget(ctx, place.Reading)
		if onto.CodeOf(err) == onto.Uninitialized {
			err = onto.Errorf(onto.Uninitialized, "%w", err).WithHint("copy first").WithCommand(k.words("--apply")...)
		}
	case k.apply:
		err = k.makeTarget(ctx)
	default:
		if err := k.target.CheckFolder(); err != nil {
			return err
		}
		k.archive.To, err = k.openTarget(ctx, place.Examining)
		if onto.CodeOf(err) == onto.Uninitialized {
			k.archive.To, err = memory.New(nil).OpenTarget(), nil // a plan makes no store
		}
	}
	return err
}

func (k *copying) openTarget(ctx context.Context, how place.Access) (backend.Archive, error) {
	b, err := k.OpenAt(ctx, how, k.target, k.cfg)
	if err != nil {
		k.About(k.target)
		return nil, err
	}
	k.released = append(k.released, b)
	return asArchive(b, k.target)
}

// makeTarget opens the target to be filled. Where there is no store, one is made once it is
// known that it can be filled.
func (k *copying) makeTarget(ctx context.Context) error {
	k.About(k.target)
	if err := k.target.CheckFolder(); err != nil {
		return err
	}
	there, err := k.OpenAt(ctx, place.Examining, k.target, k.cfg)
	switch {
	case err == nil:
		err := k.keepRejects(ctx, there)
		if k.Shut(there); err != nil {
			return err
		}
	case onto.CodeOf(err) == onto.Uninitialized:
		k.About(k.source)
		k.archive.To = memory.New(nil).OpenTarget()
		if _, err := k.archive.Plan(ctx); err != nil {
			return err
		}
		if err := k.keepRejects(ctx, nil); err != nil {
			return err
		}
	default:
		return err
	}
	k.archive.To, err = k.openTarget(ctx, place.Filling)
	return err
}

func asArchive(b backend.Backend, at place.Location) (backend.Archive, error) {
	a, ok := backend.As[backend.Archive](b)
	if !ok {
		return nil, onto.Errorf(onto.UnsupportedOperation, "%s: this kind of storage cannot be copied", at)
	}
	return a, nil
}

func (k *copying) release() {
	for _, b := range k.released {
		k.Shut(b)
	}
}

// words is the command line of the copy, with another word after it.
func (k *copying) words(last string) []string {
	return append(append([]string{"copy", k.from, k.to}, k.sourceFlags.words()...), last)
}

func (k *copying) plan(ctx context.Context) error {
	plan, err := k.archive.Plan(ctx)
	if err != nil {
		return err
	}
	if err := k.print(document.NewCopy(k.source.String(), k.target.String(), plan)); err != nil {
		return err
	}
	next := onto.NewHint("nothing was changed; copy", k.words("--apply")...)
	if k.rejects == "" && slices.ContainsFunc(plan.Notes, func(n backend.LogNote) bool { return n.Code == backend.RowsRejected }) {
		k.rejects = "rejects.jsonl"
		next = onto.NewHint("nothing was changed; the copy would stop at the first row that cannot be stored here; set these aside", k.words("--apply")...)
	}
	k.Say("%s", next)
	return nil
}

func (k *copying) run(ctx context.Context) error {
	progress, done := k.Progress("copying")
	if progress != nil {
		k.archive.Progress = func(p archive.Progress) { progress(p.Versions, p.Total) }
	}
	res, err := k.archive.Apply(ctx)
	done()
	if err == nil {
		err = k.endRejects(res)
	}
	if err != nil {
		return k.interrupted(err, res)
	}
	doc := document.NewCopy(k.source.String(), k.target.String(), &res.Plan)
	doc.Applied, doc.Until, doc.Commits, doc.Versions, doc.Sum = true, res.Until, res.Commits, res.Versions, &res.Sum
	return k.print(doc)
}

// interrupted adds to an error what becomes of the target.
func (k *copying) interrupted(err error, res *archive.Result) error {
	if res.Commits == 0 {
		return err
	}
	return onto.Errorf(onto.CodeOf(err), "commits up to %d were copied, then: %w", res.Until, err)
}

func (k *copying) print(doc document.Copy) error {
	if k.JSON {
		return k.Document(doc)
	}
	pairs := [][2]string{
		{"source", doc.Source}, {"origin", doc.Origin}, {"target", doc.Target},
		{"commits", copyRange(doc)}, {"versions", strconv.FormatInt(doc.Versions, 10)}, {"types", strconv.Itoa(doc.Types)},
		{"size", terminal.Bytes(doc.Bytes)},
	}
	if doc.Scratch > 0 {
		pairs = append(pairs, [2]string{"scratch", terminal.Bytes(doc.Scratch)})
	}
	if doc.Resumes {
		pairs = append(pairs, [2]string{"continues", fmt.Sprintf("an unfinished copy, at commit %d", doc.Shared)})
	}
	if doc.Sum != nil {
		pairs = append(pairs, [2]string{"sum", *doc.Sum})
	}
	for _, n := range doc.Notes {
		pairs = append(pairs, [2]string{noteLabel(n), noteText(n)})
	}
	return k.Pairs(pairs)
}

// copyRange tells which commits are copied.
func copyRange(doc document.Copy) string {
	switch {
	case doc.Commits == 0 && doc.Until == 0:
		return "none: the source is empty"
	case doc.Commits == 0:
		return fmt.Sprintf("none: the target has all up to commit %d", doc.Until)
	}
	return fmt.Sprintf("%d, from %d to %d", doc.Commits, doc.Until-doc.Commits+1, doc.Until)
}

func (k *copying) verify(ctx context.Context) error {
	got, err := k.archive.Verify(ctx)
	if err != nil {
		return err
	}
	doc := document.NewCopyComparison(k.source.String(), k.target.String(), got)
	if k.JSON {
		err = k.Document(doc)
	} else {
		err = k.Pairs(comparisonPairs(doc))
	}
	if err != nil || got.First == nil {
		return err
	}
	return onto.Errorf(document.CheckFailed, "the copy differs: %s", got.First).WithHint("copy to another place, and compare that")
}

func comparisonPairs(doc document.CopyComparison) [][2]string {
	equal := fmt.Sprintf("yes, all %d commits", doc.Commit)
	switch {
	case !doc.Equal:
		equal = "no: " + *doc.Difference
	case doc.SourceHead > doc.TargetHead:
		equal = fmt.Sprintf("yes, up to commit %d; the source has %s more", doc.Commit, terminal.Count(int(doc.SourceHead-doc.TargetHead), "commit", "commits"))
	}
	pairs := [][2]string{{"source", doc.Source}, {"target", doc.Target}, {"equal", equal}}
	if doc.Sum != nil {
		pairs = append(pairs, [2]string{"sum", *doc.Sum})
	}
	if doc.TypesSum != nil {
		pairs = append(pairs, [2]string{"types sum", *doc.TypesSum})
	}
	return pairs
}
