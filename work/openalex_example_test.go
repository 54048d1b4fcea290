package work_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/work"
)

// Publication is a work of OpenAlex.
type Publication struct {
	ID    string `json:"id" onto:"key"`
	Title string `json:"display_name"`
	Year  int    `json:"publication_year"`
}

// openAlex is an answer of OpenAlex with a list of works.
type openAlex struct {
	Meta struct {
		NextCursor *string `json:"next_cursor"`
	}
	Results []Publication
}

// nextCursor follows the cursor of a list to its end. A page is known by its cursor.
func nextCursor(_ context.Context, r *work.Record) ([]work.Item, error) {
	var a openAlex
	if err := json.Unmarshal(r.Body, &a); err != nil || a.Meta.NextCursor == nil || len(a.Results) == 0 {
		return nil, err
	}
	u, err := url.Parse(r.Item.URI)
	if err != nil {
		return nil, err
	}
	q := u.Query()
	q.Set("cursor", *a.Meta.NextCursor)
	u.RawQuery = q.Encode()
	return []work.Item{{ID: "cursor " + *a.Meta.NextCursor, URI: u.String()}}, nil
}

// The works that a query of OpenAlex finds are read page by page, by its cursors. The
// answers have the form of those of OpenAlex; before the second page the
// server asks to come back later.
func Example_openAlex() {
	pages, busy := map[string]string{"*": "1", "IlsxMDAuMCwgMV0i": "2", "IlsxMDAuMCwgMl0i": "3"}, true
	api := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		page := pages[in.URL.Query().Get("cursor")]
		switch {
		case in.URL.Path != "/works":
			http.NotFound(out, in)
		case page == "2" && busy:
			busy = false
			out.Header().Set("Retry-After", "0")
			http.Error(out, `{"error":"Rate limit exceeded"}`, http.StatusTooManyRequests)
		default:
			out.Header().Set("Content-Type", "application/json")
			http.ServeFile(out, in, "testdata/openalex/"+page+".json")
		}
	}))
	defer api.Close()

	ctx := context.Background()
	s, err := store.Open(ctx, memory.New(nil).Open(), onto.TypeOf[Publication]())
	if err != nil {
		panic(err)
	}
	defer s.Close()
	q, err := work.Open(s)
	if err != nil {
		panic(err)
	}
	_, err = q.Enqueue(ctx, work.Item{
		System: "openalex", Source: "works", Type: "list", ID: "open access",
		URI: api.URL + "/works?search=open+access&per-page=2&cursor=*&mailto=bot@example.org",
	})
	if err != nil {
		panic(err)
	}
	sum, err := (&work.Runner{
		Queue: q,
		Connectors: map[string]work.Connector{"openalex": work.HTTP(&work.HTTPOptions{
			UserAgent: "example/1.0 (mailto:bot@example.org)", AllowNets: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		})},
		Writers: []work.Writer{work.Ensure(s, func(r *work.Record) ([]any, error) {
			var a openAlex
			err := json.Unmarshal(r.Body, &a)
			return []any{a.Results}, err
		})},
		Discover: []work.Discovery{work.DiscoveryFunc(nextCursor)},
	}).Run(ctx, &work.RunOptions{
		Limits:      work.Limits{"works": {PerSecond: 100}}, // OpenAlex asks for at most 10, and 100,000 a day
		BackoffBase: time.Millisecond, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(sum.Completed, "pages of the list,", sum.Retried, "retry")
	for p, err := range store.Find[Publication](s.Now()).OrderBy(onto.Path("publication_year").Asc()).All(ctx) {
		if err != nil {
			panic(err)
		}
		fmt.Println(p.Year, p.Title)
	}
	// Output:
	// 3 pages of the list, 1 retry
	// 1951 Protein measurement with the Folin phenol reagent
	// 1970 Cleavage of structural proteins
	// 2018 The state of OA
}
