package store

import (
	"context"
	"reflect"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store/internal/catalog"
	"github.com/ontologia/onto/store/internal/shape"
)

// Tx is one try of a transaction, see [Transact]. It shows the store as it was when the try
// began, without what the transaction itself writes, and notes what is read through it.
// [Get], [GetVersion] and [Find] read Go structs from it. It is for one goroutine at a time.
// Once its function has returned its methods fail with Closed.
type Tx struct {
	s    *Store
	view View
	at   int64             // the commit of the view
	made *catalog.Drafting // the writes
	base int               // how many writes the draft of the caller has

	writes []backend.Write
	places map[onto.Identity]int // of the writes, once there are many
	events []any

	reads []onto.Expectation       // the versions that were read
	head  bool                     // the whole store was read
	knew  map[onto.Identity][]byte // what was read of types of which the program may not know all fields
	ended bool
}

// Ensure adds things that should look as given, see [onto.Draft.Ensure]. What the
// transaction has said of a thing before does not count any more.
func (tx *Tx) Ensure(things ...any) error { return tx.write(onto.Draft{}.Ensure(things...), false) }

// Merge adds things of which some fields should be as given, see [onto.Draft.Merge]. It
// fails with Conflict for a thing that the transaction has written before.
func (tx *Tx) Merge(things ...any) error { return tx.write(onto.Draft{}.Merge(things...), true) }

// Delete adds things that should not exist, see [onto.Draft.Delete]. What the transaction
// has said of a thing before does not count any more.
func (tx *Tx) Delete(things ...any) error { return tx.write(onto.Draft{}.Delete(things...), false) }

// Emit adds events, see [onto.Draft.Emit]. One that is not well formed fails the transaction
// when its function has returned. After that Emit does nothing.
func (tx *Tx) Emit(things ...any) {
	if !tx.ended {
		tx.events = append(tx.events, things...)
	}
}

// Get returns the version of an identity, or NotFound. If another commit changes it, or
// makes it where there was none, the transaction is tried again.
func (tx *Tx) Get(ctx context.Context, id onto.Identity) (onto.Version, error) {
	if err := tx.usable(); err != nil {
		return onto.Version{}, err
	}
	found, err := tx.view.Get(ctx, id)
	if noted := tx.note(id, found.Commit, err); noted != nil {
		return onto.Version{}, noted
	}
	return found, err
}

// View views the moment that the transaction shows. What is read through it is not noted:
// other commits may change it before the transaction commits.
func (tx *Tx) View() View { return tx.view }

// Find asks for the live versions of a type, in order of identity. If there is any other
// commit, of whatever it is, the transaction is tried again.
func (tx *Tx) Find(name string) Query[onto.Version] {
	return tx.view.query(tx.finding(func(v View) (*catalog.Type, error) { return v.named(name) }))
}

// finding notes that a question is asked, whose type is found like this.
func (tx *Tx) finding(find func(View) (*catalog.Type, error)) func(View) (*catalog.Type, error) {
	if err := tx.usable(); err != nil {
		return func(View) (*catalog.Type, error) { return nil, err }
	}
	tx.head = true
	return find
}

// usable fails once the function has returned.
func (tx *Tx) usable() error {
	if tx != nil && tx.ended {
		return onto.Errorf(onto.Closed, "the transaction has ended, since its function has returned").
			WithHint("use it only within the function, or start another one")
	}
	return nil
}

// readInto notes what was read into a struct, or the error of that.
func (tx *Tx) readInto(value reflect.Value, found *onto.Version, err error) error {
	if noted := tx.note(found.Identity, found.Commit, err); noted != nil {
		return noted
	}
	if err == nil {
		tx.know(found.Identity, value)
	}
	return err
}

// note notes that a version was read. With NotFound there is none.
func (tx *Tx) note(id onto.Identity, commit int64, err error) error {
	if commit == 0 && onto.CodeOf(err) != onto.NotFound {
		return nil // it was not read
	}
	tx.reads = append(tx.reads, onto.Expectation{Identity: id, Commit: commit})
	if most := tx.s.opts.MaxBatch; len(tx.reads) > 2*most {
		if tx.settle(); len(tx.reads) > most {
			return onto.Errorf(onto.TooLarge, "the transaction has read more than %d things", most).
				WithHint("ask for many things with Find, or read through View what may change meanwhile")
		}
	}
	return nil
}

// settle brings what was read into order, each once.
func (tx *Tx) settle() {
	slices.SortFunc(tx.reads, func(a, b onto.Expectation) int { return a.Identity.Compare(b.Identity) })
	tx.reads = slices.Compact(tx.reads)
}

// know remembers what was read if the program may not know all fields of its type: a write
// decides only what differs.
func (tx *Tx) know(id onto.Identity, value reflect.Value) {
	w := tx.s.written(value)
	if w == nil {
		return
	}
	if tx.knew == nil {
		tx.knew = map[onto.Identity][]byte{}
	}
	tx.knew[id] = w.Fields
}

// write adds what the intents of a draft stand for; nothing, if that fails.
func (tx *Tx) write(d onto.Draft, merge bool) error {
	if err := tx.usable(); err != nil {
		return err
	}
	var added []backend.Write
	size := tx.base + len(tx.writes)
	for w, err := range tx.made.Stream(context.Background(), d, nil) { // the context says only who may write the store's own types
		if err != nil {
			return err
		}
		if tx.placeOf(&w.Identity) < 0 {
			size++
		}
		if size > tx.s.opts.MaxBatch {
			return tx.s.tooMany()
		}
		if before, read := tx.knew[w.Identity]; read && w.Known != nil && !merge {
			shape.OnlyChanged(&w, before)
		}
		added = append(added, w)
	}
	return tx.place(added, merge)
}

// place adds writes, or puts them in the place of those of the same identity.
func (tx *Tx) place(added []backend.Write, merge bool) error {
	before := len(tx.writes)
	for _, w := range added {
		switch at := tx.placeOf(&w.Identity); {
		case at >= 0 && merge:
			tx.writes, tx.places = tx.writes[:before], nil
			return onto.Errorf(onto.Conflict, "%s is merged, and the transaction has written it before", w.Identity).
				WithHint("merge all its fields at once, or ensure it as a whole")
		case at >= 0:
			tx.writes[at] = w
		default:
			tx.writes = append(tx.writes, w)
		}
	}
	return nil
}

// fewWrites is how many writes are looked through one by one.
const fewWrites = 16

// placeOf is where an identity is among the writes; -1 if it is not there.
func (tx *Tx) placeOf(id *onto.Identity) int {
	if len(tx.writes) <= fewWrites {
		for i := range tx.writes {
			if tx.writes[i].Identity == *id {
				return i
			}
		}
		return -1
	}
	if tx.places == nil {
		tx.places = map[onto.Identity]int{}
	}
	for i := len(tx.places); i < len(tx.writes); i++ {
		tx.places[tx.writes[i].Identity] = i
	}
	if at, ok := tx.places[*id]; ok {
		return at
	}
	return -1
}
