package work

import (
	"context"
	"mime"
	"net/url"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/links"
)

// LinkOptions change which links are followed. The zero value is the default.
type LinkOptions struct {
	Depth    int                 // follow no links of items at this depth; 0 for any
	AnyHost  bool                // follow links to other hosts, too
	Domains  []string            // follow links to hosts of these domains, too
	NoFollow bool                // follow also links that ask not to be followed
	Only     func(*url.URL) bool // follow only these; nil for all
	Max      int                 // links of one document; 0 for 10,000

	SortQuery bool     // URLs that differ only in the order of their parameters are the same
	DropQuery []string // parameters that do not count; utm_* is every name that begins with utm_

	System, Type string // of the items; "" for those of the item that links to them
}

// Links is a discovery of the links in HTML. Of a document, base, nofollow and the header
// X-Robots-Tag are honoured. Links lead to the host of their item only, unless the options
// say otherwise; from an item that was not discovered itself, also to the host that it
// redirects to. URLs are normalised, and are the ids of the items, or, if an item's id is
// the path of its URI, those of its host have paths as ids, too.
func Links(o *LinkOptions) Discovery {
	opts := o.orDefault()
	return DiscoveryFunc(func(_ context.Context, r *Record) ([]Item, error) {
		if !isHTML(r) {
			return nil, nil
		}
		return opts.discover(r, func(at *url.URL, o *links.Options) (links.Found, error) { return links.HTML(r.Body, at, o) })
	})
}

// JSONNext is a discovery of links in JSON documents: those at the paths, as in
// $.meta.next, or without paths the members next, links and @odata.nextLink of the
// document. Links are followed as by [Links]. Records that are not JSON have none.
func JSONNext(o *LinkOptions, paths ...string) (Discovery, error) {
	opts := o.orDefault()
	var list []links.Path
	for _, p := range paths {
		parsed, err := links.ParsePath(p)
		if err != nil {
			return nil, err
		}
		list = append(list, parsed)
	}
	return DiscoveryFunc(func(_ context.Context, r *Record) ([]Item, error) {
		if !isJSON(r) {
			return nil, nil
		}
		return opts.discover(r, func(at *url.URL, o *links.Options) (links.Found, error) { return links.JSON(r.Body, at, list, o) })
	}), nil
}

func (o *LinkOptions) orDefault() *LinkOptions {
	if o == nil {
		return &LinkOptions{}
	}
	c := *o
	return &c
}

// discover makes items of the links that are to be followed.
func (o *LinkOptions) discover(r *Record, find func(*url.URL, *links.Options) (links.Found, error)) ([]Item, error) {
	if o.Depth > 0 && r.Item.Depth >= o.Depth || !o.NoFollow && headerNoFollow(r) {
		return nil, nil
	}
	at, err := url.Parse(r.URL)
	if err != nil {
		return nil, onto.Errorf(onto.Invalid, "the links of item %.200q: %w", r.Item.Resource, err)
	}
	form := &links.Form{SortQuery: o.SortQuery, Drop: o.DropQuery}
	found, err := find(at, &links.Options{ContentType: r.ContentType, MaxLinks: o.Max, MaxBytes: max(len(r.Body), 1), Form: form})
	if err != nil {
		return nil, err
	}
	home, err := url.Parse(r.Item.URI)
	if err != nil {
		home = at
	}
	names := namesOf(r.Item, home, form)
	var list []Item
	for _, l := range found.Links {
		if !o.NoFollow && (l.NoFollow || found.NoFollow) || !o.follows(l.URL, home, at, r.Item.Depth) {
			continue
		}
		i := Item{System: o.System, Type: o.Type, Source: r.Item.Source, ID: names(l.URL), URI: l.URL.String()}
		if i.fits(r.Item) {
			list = append(list, i)
		}
	}
	return list, nil
}

// follows reports whether a link leads to where links are followed.
func (o *LinkOptions) follows(u, home, at *url.URL, depth int) bool {
	if o.Only != nil && !o.Only(u) {
		return false
	}
	if o.AnyHost || links.SameHost(u, home) || depth == 0 && links.SameHost(u, at) {
		return true
	}
	for _, d := range o.Domains {
		if links.SameSite(u, d) {
			return true
		}
	}
	return false
}

// namesOf tells how items are named that an item links to: by path, if it is so itself, or
// by URL.
func namesOf(i *onto.WorkItem, home *url.URL, form *links.Form) func(*url.URL) string {
	if n, err := links.Normalize(home, form); err == nil && i.Resource == n.RequestURI() {
		return func(u *url.URL) string {
			if links.SameHost(u, home) {
				return u.RequestURI()
			}
			return u.String()
		}
	}
	return (*url.URL).String
}

// fits reports whether an item that was found in a document is well formed: a URL can be
// longer than the id of an item.
func (i *Item) fits(parent *onto.WorkItem) bool {
	c := *i
	c.System, c.Type = parent.System, parent.Type
	_, err := c.item(time.Time{})
	return err == nil
}

func headerNoFollow(r *Record) bool {
	for _, v := range r.Header.Values("X-Robots-Tag") {
		if links.RobotsNoFollow(v) {
			return true
		}
	}
	return false
}

func isHTML(r *Record) bool {
	kind, _, _ := mime.ParseMediaType(r.ContentType)
	return kind == "text/html" || kind == "application/xhtml+xml"
}

func isJSON(r *Record) bool {
	kind, _, _ := mime.ParseMediaType(r.ContentType)
	return kind == "application/json" || strings.HasSuffix(kind, "+json")
}
