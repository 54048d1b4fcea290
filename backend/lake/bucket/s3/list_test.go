package s3_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
)

var someTime = time.Date(2026, 2, 10, 12, 34, 56, 0, time.UTC)

// page answers a listing with keys, and with a token if more follow.
func page(token string, keys ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<?xml version="1.0"?><ListBucketResult>`)
		for _, key := range keys {
			fmt.Fprintf(w, `<Contents><Key>%s</Key><Size>%d</Size><LastModified>%s</LastModified></Contents>`,
				key, len(key), someTime.Format(time.RFC3339))
		}
		fmt.Fprintf(w, `<IsTruncated>%t</IsTruncated>`, token != "")
		if token != "" && token != "none" {
			fmt.Fprintf(w, `<NextContinuationToken>%s</NextContinuationToken>`, token)
		}
		fmt.Fprint(w, `</ListBucketResult>`)
	}
}

func TestListPages(t *testing.T) {
	s := newService(t, page("t1", "lake/a/1", "lake/a/2"), status(503, "SlowDown"), page("t2", "lake/a/3", "lake/a/4"), page("", "lake/a/5"))
	b := s.open()
	got, err := b.List(t.Context(), "a/", "a/0", 1500)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, e := range got {
		keys = append(keys, e.Key)
		if e.Size != int64(len("lake/"+e.Key)) || !e.Modified.Equal(someTime) {
			t.Errorf("%s has %d bytes of %s", e.Key, e.Size, e.Modified)
		}
	}
	if want := []string{"a/1", "a/2", "a/3", "a/4", "a/5"}; !slices.Equal(keys, want) {
		t.Errorf("got %q, want %q", keys, want)
	}
	var asked []string
	for _, r := range s.seen() {
		q := r.URL.Query()
		asked = append(asked, strings.Join([]string{q.Get("prefix"), q.Get("start-after"), q.Get("continuation-token"), q.Get("max-keys")}, " "))
	}
	want := []string{
		"lake/a/ lake/a/0  1000", "lake/a/ lake/a/0 t1 1000", "lake/a/ lake/a/0 t1 1000", "lake/a/ lake/a/0 t2 1000",
	}
	if !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}

func TestListLimit(t *testing.T) {
	s := newService(t, page("t1", "lake/a", "lake/b"), page("t2", "lake/c", "lake/d"))
	b := s.open()
	got, err := b.List(t.Context(), "", "", 3)
	if err != nil || len(got) != 3 || got[2].Key != "c" {
		t.Errorf("got %v, %v", got, err)
	}
	if q := s.seen()[1].URL.Query(); q.Get("max-keys") != "1" || q.Has("start-after") {
		t.Errorf("asked %s", q.Encode())
	}
	wantCount(t, s, 2)
	_, err = b.List(t.Context(), "", "", 0)
	wantOnly(t, "limit 0", err, onto.Invalid)
	wantCount(t, s, 2)
}

// A listing that would leave something out, or never end, is an error.
func TestBadListings(t *testing.T) {
	tests := []struct {
		name    string
		answers []http.HandlerFunc
		want    error
	}{
		{"out of order", []http.HandlerFunc{page("", "lake/a2", "lake/a1")}, onto.Unsupported},
		{"the same page again", []http.HandlerFunc{page("t", "lake/a1")}, onto.Unsupported},
		{"empty pages without end", []http.HandlerFunc{page("t")}, onto.Unsupported},
		{"more without a token", []http.HandlerFunc{page("none", "lake/a1")}, onto.Unsupported},
		{"another folder", []http.HandlerFunc{page("", "pond/a1")}, onto.Unsupported},
		{"another prefix", []http.HandlerFunc{page("", "lake/b1")}, onto.Unsupported},
		{"before the start", []http.HandlerFunc{page("", "lake/a0")}, onto.Unsupported},
		{"no bucket", []http.HandlerFunc{status(404, "NoSuchBucket")}, onto.Unavailable},
		{"403", []http.HandlerFunc{status(403, "AccessDenied")}, onto.Unavailable},
		{"throttled on the second page", []http.HandlerFunc{page("t", "lake/a1"), status(503, "SlowDown")}, bucket.ErrThrottled},
		{"half a page", []http.HandlerFunc{raw("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n<ListBucketResult><Contents>", false)}, onto.Unavailable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := newService(t, test.answers...).open().List(t.Context(), "a", "a0", 10)
			wantOnly(t, "list", err, test.want)
			if got != nil {
				t.Errorf("an error came with %v", got)
			}
		})
	}
}

func TestListBadPrefix(t *testing.T) {
	s := newService(t, page(""))
	_, err := s.open().List(t.Context(), "../a", "", 10)
	wantOnly(t, "list", err, onto.Invalid)
	wantCount(t, s, 0)
}
