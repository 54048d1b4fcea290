package object_test

import (
	"bytes"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/object"
)

// Reads that filter by fields without an index are counted, and one that is used often is
// logged once.
func TestUnindexed(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	v := open(t, object.Config{"chat": {"acme": {"memory://"}}})
	must(t, v.Init(t.Context(), "chat", "acme"))
	set := messagesOf(v)
	acme := set.Tenant("acme")
	where := object.Where().Key("sender").Equal("ana").And().Key("sent").Equal(1).
		Or().Filter(onto.Not{Of: onto.Or{onto.Path("text").Contains("x"), onto.Path("sent").Gt(3), onto.Path("place", "city").Eq("Oslo")}}).
		And().Key("place.tags").IsNull()
	for range 999 {
		_, err := acme.Select(t.Context(), where)
		must(t, err)
	}
	if log.Len() > 0 {
		t.Errorf("logged %s", &log)
	}
	for range 3 {
		_, err := acme.Count(t.Context(), object.Where().Key("sent").Equal(1))
		must(t, err)
	}
	_, err := acme.SelectByID(t.Context(), "m1") // by an index
	wantCode(t, err, onto.NotFound)
	_, err = acme.SelectAll(t.Context(), "c1")
	must(t, err)
	if got, want := set.Unindexed(), map[string]int64{"sent": 1002, "text": 999, "place.tags": 999}; !reflect.DeepEqual(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
	if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "field=sent") || !strings.Contains(log.String(), "set=Message") || !strings.Contains(log.String(), "vault=chat") {
		t.Errorf("logged %d lines: %s", lines, &log)
	}
}

// Objects can be read by the name of their type only.
func TestVersions(t *testing.T) {
	onEach(t, func(t *testing.T, v *object.Vaults) {
		ctx := t.Context()
		acme := messagesOf(v).Tenant("acme")
		all := insert(t, acme, 30)
		time.Sleep(2 * time.Millisecond)
		moment := time.Now()
		time.Sleep(2 * time.Millisecond)
		must(t, acme.Delete(ctx, all[0].DBKey()))
		versions, err := v.Versions(ctx, "chat", "acme", "Message")
		must(t, err)
		n := 0
		for version, err := range versions.Each(ctx, object.Where().Key("sender").Equal("ana").OrderBy("sent")) {
			var m Message
			if err == nil {
				err = version.Decode(&m)
			}
			if err != nil || m.Sender != "ana" {
				t.Fatalf("got %+v, %v", version, err)
			}
			n++
		}
		if count, err := versions.Count(ctx, object.Where().Key("sender").Equal("ana")); n != 9 || count != 9 || err != nil {
			t.Errorf("got %d, counted %d, %v", n, count, err)
		}
		got := 0
		for cursor := ""; ; {
			page, err := versions.Page(ctx, object.All().Limit(11).Cursor(cursor))
			must(t, err)
			got += len(page.Objects)
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		if got != 29 {
			t.Errorf("the pages have %d versions", got)
		}
		if count, err := versions.AsOf(moment).Count(ctx, nil); count != 30 || err != nil {
			t.Errorf("as of before the delete: counted %d, %v", count, err)
		}
		for range versions.Each(ctx, nil) {
			break
		}
		_, err = v.Versions(ctx, "chat", "acme", "Massage")
		wantCode(t, err, onto.Invalid)
		_, err = versions.Count(ctx, object.Where().Key("nobody").IsNull())
		wantCode(t, err, onto.Invalid)
	})
}
