package object_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/object"
)

// Doc has fields that compute functions set, at the top and inside.
type Doc struct {
	ID      string    `json:"id"`
	Text    string    `json:"text"`
	Size    int64     `json:"size"`
	Author  string    `json:"author"`
	Saved   time.Time `json:"saved"`
	Inner   Inner     `json:"inner"`
	Seen    bool      `json:"seen"`
	Private string    `json:"-"`
}

type Inner struct {
	Length int64  `json:"length"`
	Note   string `json:"note"`
}

func (d Doc) DBKey() object.Key[string, string] { return object.KeyOf(d.ID, d.ID) }

// Compute functions run on every read of objects, in their order, with the metadata.
func TestCompute(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		broken := errors.New("broken")
		docs := object.NewSet[Doc](v, "chat").WithCompute(func(_ context.Context, md object.Metadata, d *Doc) error {
			d.Author, d.Saved, d.Inner.Length = md.CreatedBy.ID, md.UpdatedAt, int64(len(d.Text))
			return nil
		}).WithCompute(func(_ context.Context, md object.Metadata, d *Doc) error {
			if d.Text == "broken" {
				return broken
			}
			d.Private = d.Author + " " + md.Shard
			return nil
		}).Ready()
		acme := docs.Tenant("acme")
		must(t, acme.Insert(as(t, "ana"), Doc{ID: "a", Text: "four"}, Doc{ID: "b", Text: "four"}))
		check := func(operation string, d Doc, err error) {
			t.Helper()
			if err != nil || d.Author != "ana" || d.Inner.Length != 4 || d.Saved.IsZero() || len(d.Private) < len("ana shard-1") {
				t.Errorf("%s: got %+v, %v", operation, d, err)
			}
		}
		first := func(list []Doc, err error) (Doc, error) {
			if err != nil || len(list) != 2 {
				return Doc{}, errors.Join(err, errors.New("not two objects"))
			}
			return list[1], nil
		}
		ctx := t.Context()
		d, err := acme.SelectByID(ctx, "a")
		check("SelectByID", d, err)
		full, err := acme.SelectByIDWithMetadata(ctx, "a")
		check("SelectByIDWithMetadata", full.Object, err)
		d, err = first(acme.Select(ctx, object.Where().Key("text").Equal("four")))
		check("Select", d, err)
		d, err = first(acme.SelectAll(ctx))
		check("SelectAll", d, err)
		list, err := acme.SelectAllWithMetadata(ctx)
		check("SelectAllWithMetadata", list[0].Object, err)
		page, err := acme.Page(ctx, object.All().Limit(1))
		check("Page", page.Objects[0], err)
		_, err = acme.Process(ctx, nil, func(_ context.Context, d Doc) error {
			check("Process", d, nil)
			return nil
		})
		must(t, err)
		err = acme.Tx(ctx, "a", func(tx *object.Tx) error {
			d, err := object.In(tx, docs).SelectByID(ctx, "a")
			check("SelectByID of a transaction", d, err)
			list, err := object.In(tx, docs).Select(ctx, nil)
			check("Select of a transaction", list[0], err)
			return err
		})
		must(t, err)

		stored, err := acme.Mutate(ctx, object.KeyOf("a", "a"), func(d *Doc) error {
			if d.Author != "" || d.Inner.Length != 0 {
				t.Errorf("Mutate got what was computed: %+v", d)
			}
			d.Text = "broken"
			return nil
		})
		if err != nil || stored.Author != "" {
			t.Errorf("Mutate returned %+v, %v", stored, err)
		}
		if _, err := acme.SelectByID(ctx, "a"); !errors.Is(err, broken) {
			t.Errorf("with a compute function that fails: got %v", err)
		}
		if _, err := acme.SelectAll(ctx); !errors.Is(err, broken) {
			t.Errorf("with a compute function that fails: got %v", err)
		}
		if n, err := acme.Count(ctx, nil); n != 2 || err != nil {
			t.Errorf("counted %d, %v", n, err)
		}
		if ok, err := acme.Exists(ctx, "a"); !ok || err != nil {
			t.Errorf("exists: %t, %v", ok, err)
		}
		err = acme.Tx(ctx, "a", func(tx *object.Tx) error { return object.In(tx, docs).Insert(ctx, Doc{ID: "a"}) })
		wantCode(t, err, onto.Conflict)
	})
}

// SafeUpdate compares what was read with what is stored, and leaves out what was computed.
func TestSafeUpdate(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		seen := false
		docs := object.NewSet[Doc](v, "chat").WithCompute(func(_ context.Context, md object.Metadata, d *Doc) error {
			d.Author, d.Saved, d.Inner.Length, d.Seen = md.UpdatedBy.ID, time.Now(), int64(len(d.Text)), seen
			return nil
		}).Ready()
		acme := docs.Tenant("acme")
		const odd = 1<<53 + 1 // which no float64 holds
		must(t, acme.Insert(as(t, "ana"), Doc{ID: "a", Text: "one", Size: odd}))
		read := func() Doc {
			t.Helper()
			d, err := acme.SelectByID(t.Context(), "a")
			must(t, err)
			return d
		}
		from := read()
		to := from
		to.Text = "three"
		must(t, acme.SafeUpdate(as(t, "bob"), from, to))
		if d := read(); d.Text != "three" || d.Author != "bob" || d.Inner.Length != 5 {
			t.Errorf("got %+v", d)
		}
		wantCode(t, acme.SafeUpdate(as(t, "bob"), from, to), onto.VersionMismatch)

		for name, change := range map[string]func(*Doc){
			"a text":         func(d *Doc) { d.Text = "other" },
			"a large number": func(d *Doc) { d.Size-- },
			"an inner text":  func(d *Doc) { d.Inner.Note = "other" },
		} {
			from := read()
			change(&from)
			wantCode(t, acme.SafeUpdate(as(t, "eve"), from, Doc{ID: "a"}), onto.VersionMismatch)
			if d := read(); d.Text != "three" || d.Author != "bob" {
				t.Errorf("%s was changed, and the update stored %+v", name, d)
			}
		}
		from = read()
		from.Author, from.Saved, from.Inner.Length = "", time.Time{}, 7 // which are computed
		must(t, acme.SafeUpdate(as(t, "eve"), from, Doc{ID: "a", Text: "four"}))

		seen = true
		from = read()
		seen = false // what is computed now is what is stored, and not what was read
		must(t, acme.SafeUpdate(as(t, "eve"), from, Doc{ID: "a", Text: "five"}))

		wantCode(t, acme.SafeUpdate(as(t, "eve"), read(), Doc{ID: "b"}), onto.Invalid)
		wantCode(t, acme.SafeUpdate(as(t, "eve"), Doc{ID: "b"}, Doc{ID: "b"}), onto.NotFound)
		was, err := acme.AsOf(time.Now()).SelectByID(t.Context(), "a")
		if err != nil || was.Text != "five" || !reflect.DeepEqual(was.Inner, Inner{Length: 4}) {
			t.Errorf("at the end: got %+v, %v", was, err)
		}
	})
}
