package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/archive"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/source"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/store"
)

// sourceFlags is what the source of a copy is asked to change.
type sourceFlags struct {
	rename             []string
	rejects, upgraders string
}

func (f *sourceFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.rename, "rename", nil, "give a name that is not allowed here another one, `OLD=NEW`; may be repeated")
	flags.StringVar(&f.rejects, "rejects", "", "set rows aside that cannot be stored here, in this `FILE`, which is for this copy alone")
	flags.StringVar(&f.upgraders, "upgraders", "", "upgraders `FILE`, for types that the original has migrated")
}

// text is the flags as the target records them: a copy goes on with the same ones only. That
// rows are set aside need not be among them: without it, a copy ends at the first such row.
func (f *sourceFlags) text() (string, error) {
	words := slices.Sorted(slices.Values(f.rename))
	for i := range words {
		words[i] = "--rename " + words[i]
	}
	if f.upgraders != "" {
		data, err := os.ReadFile(f.upgraders)
		if err != nil {
			return "", onto.Errorf(onto.Invalid, "upgraders file: %w", err)
		}
		sum := sha256.Sum256(data)
		words = append(words, "--upgraders "+hex.EncodeToString(sum[:8]))
	}
	return strings.Join(words, " "), nil
}

// words is the flags for a command line.
func (f *sourceFlags) words() (words []string) {
	for _, r := range f.rename {
		words = append(words, "--rename", r)
	}
	if f.rejects != "" {
		words = append(words, "--rejects", f.rejects)
	}
	if f.upgraders != "" {
		words = append(words, "--upgraders", f.upgraders)
	}
	return words
}

// openSource opens what is copied: a store, or a SQLite file that is none.
func (k *copying) openSource(ctx context.Context) (backend.LogSource, error) {
	if !k.source.IsLake() {
		f, err := k.openFile(ctx)
		var other *source.KindError
		isStore := errors.As(err, &other) && other.Found.Kind == source.Store
		if !isStore && onto.CodeOf(err) != onto.Uninitialized { // what is missing or empty is named as a store
			return f, err
		}
	}
	if words := k.sourceFlags.words(); len(words) > 0 {
		return nil, onto.Errorf(onto.Invalid, "%s is for files of the original program and of earlier formats, and %s is none", words[0], k.source).
			WithHint("leave it out")
	}
	b, err := k.OpenAt(ctx, place.Reading, k.source, k.cfg)
	if err != nil {
		return nil, err
	}
	k.released = append(k.released, b)
	return asArchive(b, k.source)
}

// openFile opens a file of the original program or of an earlier format. A plan writes no
// file of rejects: what would be in it is counted.
func (k *copying) openFile(ctx context.Context) (backend.LogSource, error) {
	o := &source.Options{Rename: map[string]string{}, Rejects: k.rejects, Scratch: k.cfg.Text("cache_dir")}
	for _, text := range k.rename {
		old, name, ok := strings.Cut(text, "=")
		if !ok || old == "" || name == "" {
			return nil, onto.Errorf(onto.Invalid, "--rename %q is not OLD=NEW", text).WithHint("for example: --rename a-b=a_b")
		}
		if other, twice := o.Rename[old]; twice && other != name {
			return nil, onto.Errorf(onto.Invalid, "--rename %q: it is to be called %s already", text, other).WithHint("give each name once")
		}
		o.Rename[old] = name
	}
	err := k.checkRejects()
	if err == nil {
		o.Upgraders, err = readUpgraders(k.upgraders)
	}
	if err != nil {
		return nil, err
	}
	f, err := source.Open(ctx, k.source.Path, o)
	if err != nil {
		return nil, err
	}
	k.released = append(k.released, f)
	return f, nil
}

// checkRejects refuses to put rows into the target.
func (k *copying) checkRejects() error {
	if k.rejects == "" {
		return nil
	}
	dir, isDir := strings.CutPrefix(k.target.Lake.String(), "file://")
	if k.target.IsLake() && isDir && source.IsBelow(k.rejects, filepath.FromSlash(dir)) || !k.target.IsLake() && source.IsAt(k.rejects, k.target.Path) {
		return onto.Errorf(onto.Invalid, "--rejects %s: this is the target, or belongs to it", k.rejects).WithHint("name a file of its own")
	}
	return nil
}

// keepRejects begins to write rows that are set aside, for the commits that a target lacks;
// nil is a target that is not there.
func (k *copying) keepRejects(ctx context.Context, target backend.Backend) error {
	f, ok := k.archive.From.(*source.File)
	if !ok {
		return nil
	}
	if target == nil {
		return f.KeepRejects(0, true)
	}
	to, err := asArchive(target, k.target)
	if err != nil {
		return err
	}
	head, err := to.LogHead(ctx)
	if err != nil {
		return err
	}
	state, err := to.CopyState(ctx)
	if err != nil {
		return err
	}
	return f.KeepRejects(head, head == 0 && !state.Unfinished)
}

// endRejects ends that when the copy is complete. After an error the rows stay, since a batch
// that rests on them may be durable nevertheless; the next copy removes what it does not need.
func (k *copying) endRejects(res *archive.Result) error {
	if f, ok := k.archive.From.(*source.File); ok {
		return f.EndRejects(res.Until)
	}
	return nil
}

// readUpgraders reads an upgraders file for types that were migrated without.
func readUpgraders(path string) ([]backend.TypeUpgrader, error) {
	if path == "" {
		return nil, nil
	}
	steps, err := session.ReadUpgraders(path)
	if err != nil {
		return nil, err
	}
	if steps, err = store.JoinUpgraders(steps); err != nil {
		return nil, onto.Errorf(onto.CodeOf(err), "%s: %w", path, err)
	}
	var list []backend.TypeUpgrader
	for _, u := range steps {
		if u.RenamedFrom != "" {
			return nil, onto.Errorf(onto.Invalid, "%s: %s was %s: a copy renames no types by upgraders", path, u.Type, u.RenamedFrom).
				WithHint("leave that out, and migrate the copy")
		}
		list = append(list, backend.TypeUpgrader{Type: u.Type, Version: u.From + 1, Upgrader: onto.StoredUpgrader{Program: u.Program}})
	}
	return list, nil
}
