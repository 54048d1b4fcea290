package deploytest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/upkeep"
)

// unfit is what an examination says about versions that do not fit their type.
func unfit(ctx context.Context, b backend.Backend) (found []string, err error) {
	for f, err := range upkeep.Examine(ctx, b, nil) {
		if err != nil {
			return nil, err
		}
		if f.Code == "fields_unfit" {
			found = append(found, f.Message)
		}
	}
	return found, nil
}

// An examination finds versions that are not as the version of their type says, at every depth,
// and nothing where all are.
func TestUnfitRowsAreFound(t *testing.T) {
	part := onto.Field{Type: onto.Object, Optional: true, Fields: []onto.Field{
		{Name: "at", Type: onto.Time, Optional: true},
		{Name: "qty", Type: onto.Int},
		{Name: "tier", Type: onto.String, Default: []byte(`"Gold"`), Enum: []json.RawMessage{[]byte(`"Gold"`), []byte(`"Silver"`)}},
	}}
	person := onto.Schema{Kind: onto.KindEntity, Name: "Person", Key: "id", Fields: []onto.Field{
		{Name: "by", Type: onto.Object, Values: &part, Optional: true},
		{Name: "id", Type: onto.String},
		{Name: "lines", Type: onto.List, Items: &part, Optional: true},
	}}
	about := onto.Schema{Kind: onto.KindFact, Name: "Claim", Left: "Person", Open: true, Fields: []onto.Field{
		{Name: "home", Type: onto.Object, Optional: true, Fields: part.Fields},
		{Name: "tags", Type: onto.String, Optional: true, Many: true},
	}}
	rows := []struct{ fields, want string }{
		{`{"id":"a","lines":[null,{"qty":1,"tier":"Gold"}]}`, ""},
		{`{"by":{"x y":{"at":"2026-02-10T00:00:00.000000+00:00","qty":2,"tier":"Silver"}},"id":"a"}`, ""},
		{`{"id":"a","lines":[null,{"qty":"two","tier":"Gold"}]}`, "field lines[1].qty: expected int, found string"},
		{`{"by":{"x y":{"qty":1,"tier":"Bronze"}},"id":"a"}`, `field by."x y".tier: "Bronze" is none of "Gold", "Silver"`},
		{`{"id":"a","lines":[{"qty":1}]}`, `field lines: [{"qty":1}] would be stored as [{"qty":1,"tier":"Gold"}]`},
		{`{"id":"a","lines":[{"at":"2026-02-10","qty":1,"tier":"Gold"}]}`, "would be stored as"},
		{`{"id":"a","lines":[{"qty":1,"tier":"Gold","zip":1}]}`, "field lines[0].zip: there is no such field"},
		{`{"id":"a","more":1}`, "field more: there is no such field"},
		{`{"lines":[]}`, "field id: it is missing"},
	}
	everywhere(t, func(w world) {
		s := w.open(onto.Untyped(person), onto.Untyped(about))
		w.commit(s, named("sound", map[string]any{"lines": []any{map[string]any{"qty": 1, "at": "2026-02-10"}}}),
			onto.Fact{Type: "Claim", Subject: "sound", Attribute: "home", Value: map[string]any{"qty": 1}},
			onto.Fact{Type: "Claim", Subject: "sound", Attribute: "tags", Value: "x"},
			onto.Fact{Type: "Claim", Subject: "sound", Attribute: "free", Value: []any{nil}})
		b := w.handle()
		var want []string
		for i, row := range rows {
			id := onto.EntityID("Person", fmt.Sprint("p", i))
			res, err := b.Append(w.Context(), &backend.Draft{Writes: []backend.Write{{Identity: id, Op: onto.Put, SchemaVersion: 1, Fields: []byte(row.fields)}}})
			if err != nil {
				w.Fatal(err)
			}
			if row.want != "" {
				want = append(want, fmt.Sprintf("%v at commit %d does not fit version 1 of its type: ", id, res.ID)+"|"+row.want)
			}
		}
		got, err := unfit(w.Context(), w.handle())
		if err != nil || len(got) != len(want) {
			w.Fatalf("got %q, %v; want %q", got, err, want)
		}
		slices.Sort(want)
		slices.Sort(got)
		for i := range want {
			if begin, end, _ := strings.Cut(want[i], "|"); !strings.HasPrefix(got[i], begin) || !strings.Contains(got[i], end) {
				w.Errorf("got %s, want %s", got[i], want[i])
			}
		}
	})
}

// Rows that another program has written without what is computed, or with something else, are
// found. They are read, and the next write of them computes it.
func TestUncomputedRowsAreFound(t *testing.T) {
	everywhere(t, func(w world) {
		s := w.open(searched())
		w.commit(s, chatMessage{ID: "m0", Chat: "c1", Text: "sound"})
		const fields = `{"chat":"c1","extra":{},"head":{"tags":[],"title":""},"id":"m1",%s"sender":"","text":"hello"}`
		texts := `"onto_id":"m1","onto_key":"c1/m1","onto_text":"c1\nm1\nhello",`
		for row, want := range map[string]string{
			texts: "",
			strings.Replace(texts, `"onto_id":"m1",`, "", 1):            "field onto_id: it is missing",
			strings.Replace(texts, `hello`, "bye", 1):                   `field onto_text: "c1\nm1\nbye" is not what its rule computes`,
			strings.Replace(texts, `"c1/m1"`, `"c1/m2"`, 1):             `field onto_key: "c1/m2" is not what its rule computes`,
			strings.Replace(texts, `"onto_id":"m1"`, `"onto_id":""`, 1): `field onto_id: "" is not what its rule computes`,
		} {
			b := w.handle()
			id := messageID("c1/m1")
			res, err := b.Append(w.Context(), &backend.Draft{Writes: []backend.Write{{Identity: id, Op: onto.Put, SchemaVersion: 1, Fields: fmt.Appendf(nil, fields, row)}}})
			if err != nil {
				w.Fatal(err)
			}
			got, err := unfit(w.Context(), w.handle())
			got = slices.DeleteFunc(got, func(f string) bool { return !strings.Contains(f, fmt.Sprintf("at commit %d ", res.ID)) })
			if err != nil || (want == "") != (len(got) == 0) || !strings.Contains(strings.Join(got, " "), want) {
				w.Errorf("got %q, %v; want %q", got, err, want)
			}
			if m, err := store.Get[chatMessage](w.Context(), s.Now(), id.Key); err != nil || m.Text != "hello" {
				w.Errorf("read as %+v, %v", m, err)
			}
			if _, err := s.Commit(w.Context(), onto.Draft{}.Merge(untypedMessage(id.Key, `{"text":"hello"}`))); err != nil {
				w.Error(err)
			}
			if got := w.message(s, id.Key); got != fmt.Sprintf(fields, texts) {
				w.Errorf("merged: %s", got)
			}
			if _, err := s.Commit(w.Context(), onto.Draft{}.Delete(id)); err != nil {
				w.Error(err)
			}
		}
	})
}
