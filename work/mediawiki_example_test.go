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

// mediaWiki is a connector of one's own: it fetches over HTTP, and knows that MediaWiki
// reports trouble in answers with status 200.
type mediaWiki struct{ http work.Connector }

// answer is what the lists of MediaWiki's action API look like.
type answer struct {
	Error    *struct{ Code, Info string }
	Continue map[string]string
	Query    struct {
		CategoryMembers []struct {
			PageID int64
			Title  string
		}
	}
}

func (m mediaWiki) Fetch(ctx context.Context, item *onto.WorkItem) (*work.Record, error) {
	r, err := m.http.Fetch(ctx, item)
	if err != nil {
		return nil, err
	}
	var a answer
	if err := json.Unmarshal(r.Body, &a); err != nil {
		return nil, work.Permanent(err)
	}
	if a.Error == nil {
		return r, nil
	}
	err = fmt.Errorf("%s: %s", a.Error.Code, a.Error.Info)
	switch a.Error.Code {
	case "maxlag", "ratelimited", "readonly":
		wait := 5 * time.Second
		if s, e := time.ParseDuration(r.Header.Get("Retry-After") + "s"); e == nil {
			wait = s
		}
		return nil, work.Temporary(err, wait)
	}
	return nil, work.Permanent(err)
}

// Discover finds the next page of a list: the request, with what the answer tells to add.
func (m mediaWiki) Discover(_ context.Context, r *work.Record) ([]work.Item, error) {
	var a answer
	if err := json.Unmarshal(r.Body, &a); err != nil || len(a.Continue) == 0 {
		return nil, err
	}
	u, err := url.Parse(r.Item.URI)
	if err != nil {
		return nil, err
	}
	q := u.Query()
	for name, value := range a.Continue {
		q.Set(name, value)
	}
	u.RawQuery = q.Encode()
	return []work.Item{{ID: r.Item.Resource + " " + a.Continue["cmcontinue"], URI: u.String()}}, nil
}

// Article is a page of a wiki.
type Article struct {
	ID    int64  `json:"id" onto:"key"`
	Title string `json:"title"`
}

// A connector of one's own reads the members of a category of a wiki, page by page. The
// answers have the form of those of MediaWiki; the first is that its database lags.
func Example_mediaWiki() {
	answers := []string{"maxlag", "1", "2"}
	wiki := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		if in.URL.Path != "/w/api.php" {
			http.NotFound(out, in)
			return
		}
		out.Header().Set("Content-Type", "application/json")
		if answers[0] == "maxlag" {
			out.Header().Set("Retry-After", "0")
		}
		http.ServeFile(out, in, "testdata/mediawiki/"+answers[0]+".json")
		answers = answers[1:]
	}))
	defer wiki.Close()

	ctx := context.Background()
	s, err := store.Open(ctx, memory.New(nil).Open(), onto.TypeOf[Article]())
	if err != nil {
		panic(err)
	}
	defer s.Close()
	q, err := work.Open(s)
	if err != nil {
		panic(err)
	}
	_, err = q.Enqueue(ctx, work.Item{
		System: "mediawiki", Source: "wikipedia", Type: "category", ID: "Computer pioneers",
		URI: wiki.URL + "/w/api.php?action=query&format=json&list=categorymembers&cmtitle=Category:Computer_pioneers&maxlag=5",
	})
	if err != nil {
		panic(err)
	}
	m := mediaWiki{work.HTTP(&work.HTTPOptions{
		UserAgent: "example/1.0 (https://example.org/bot)", AllowNets: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})}
	sum, err := (&work.Runner{
		Queue:      q,
		Connectors: map[string]work.Connector{"mediawiki": m},
		Writers: []work.Writer{work.Ensure(s, func(r *work.Record) ([]any, error) {
			var a answer
			if err := json.Unmarshal(r.Body, &a); err != nil {
				return nil, err
			}
			var list []any
			for _, p := range a.Query.CategoryMembers {
				list = append(list, Article{p.PageID, p.Title})
			}
			return list, nil
		})},
		Discover: []work.Discovery{m},
	}).Run(ctx, &work.RunOptions{
		Limits:      work.Limits{"wikipedia": {Concurrent: 1, PerSecond: 100}},
		BackoffBase: time.Millisecond, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(sum.Completed, "pages of the list,", sum.Retried, "retry")
	for a, err := range store.Find[Article](s.Now()).All(ctx) {
		if err != nil {
			panic(err)
		}
		fmt.Println(a.ID, a.Title)
	}
	// Output:
	// 2 pages of the list, 1 retry
	// 1183 Alan Turing
	// 1184 Grace Hopper
	// 15736 Ada Lovelace
}
