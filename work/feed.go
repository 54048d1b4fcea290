package work

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"io"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/html/charset"

	"github.com/ontologia/onto"
)

// Feed is an RSS or Atom feed.
type Feed struct {
	Title   string
	Link    string
	Entries []Entry
}

// Entry is one entry of a feed. What the feed does not say is empty.
type Entry struct {
	ID        string // as the feed gives it, or the link
	Title     string
	Link      string // absolute, if the feed says where it belongs
	Summary   string
	Published time.Time
	Updated   time.Time
}

// The elements of RSS 2.0, RSS 1.0 and Atom that are read.
type (
	xmlFeed struct {
		XMLName xml.Name
		Title   string     `xml:"title"`
		Links   []xmlLink  `xml:"link"`
		Entries []xmlEntry `xml:"entry"` // Atom
		Items   []xmlEntry `xml:"item"`  // RSS 1.0
		Channel *struct {
			Title string     `xml:"title"`
			Links []xmlLink  `xml:"link"`
			Items []xmlEntry `xml:"item"`
		} `xml:"channel"`
	}
	xmlEntry struct {
		ID          string    `xml:"id"`
		GUID        string    `xml:"guid"`
		About       string    `xml:"about,attr"`
		Title       string    `xml:"title"`
		Links       []xmlLink `xml:"link"`
		Summary     string    `xml:"summary"`
		Content     string    `xml:"content"`
		Description string    `xml:"description"`
		Published   string    `xml:"published"`
		Updated     string    `xml:"updated"`
		PubDate     string    `xml:"pubDate"`
		Date        string    `xml:"date"`
	}
	xmlLink struct {
		Href string `xml:"href,attr"`
		Rel  string `xml:"rel,attr"`
		Text string `xml:",chardata"`
	}
)

// ReadFeed reads a record that is an RSS (0.9 to 2.0) or Atom feed.
func ReadFeed(r *Record) (*Feed, error) {
	d := xml.NewDecoder(bytes.NewReader(r.Body))
	d.Strict = false
	d.Entity = xml.HTMLEntity
	d.CharsetReader = func(label string, in io.Reader) (io.Reader, error) { return charset.NewReaderLabel(label, in) }
	var x xmlFeed
	if err := d.Decode(&x); err != nil {
		return nil, onto.Errorf(onto.Invalid, "%.200q is not a feed: %w", r.URL, err)
	}
	switch x.XMLName.Local {
	case "feed", "rss", "RDF":
	default:
		return nil, onto.Errorf(onto.Invalid, "%.200q is not a feed: its root is %.80q", r.URL, x.XMLName.Local).WithHint("RSS and Atom can be read")
	}
	base := webURL(r.URL)
	list := append(x.Entries, x.Items...)
	f := &Feed{Title: strings.TrimSpace(x.Title), Link: link(x.Links, base)}
	if c := x.Channel; c != nil {
		f.Title, f.Link = strings.TrimSpace(c.Title), link(c.Links, base)
		list = append(list, c.Items...)
	}
	if base == nil { // of a file
		base = webURL(f.Link)
	}
	for n := range list {
		f.Entries = append(f.Entries, list[n].entry(base))
	}
	return f, nil
}

func (x *xmlEntry) entry(base *url.URL) Entry {
	e := Entry{
		Title: strings.TrimSpace(x.Title), Link: link(x.Links, base), Summary: strings.TrimSpace(cmp.Or(x.Summary, x.Description, x.Content)),
		Published: feedTime(cmp.Or(x.Published, x.PubDate, x.Date)), Updated: feedTime(x.Updated),
	}
	e.ID = cmp.Or(strings.TrimSpace(cmp.Or(x.ID, x.GUID, x.About)), e.Link)
	if guid := webURL(strings.TrimSpace(x.GUID)); e.Link == "" && guid != nil {
		e.Link = guid.String()
	}
	return e
}

// webURL is an address of http or https; nil for any other text.
func webURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil
	}
	return u
}

// link is the one that leads to the entry itself.
func link(list []xmlLink, base *url.URL) string {
	for _, l := range list {
		if l.Rel != "" && l.Rel != "alternate" {
			continue
		}
		u, err := url.Parse(strings.TrimSpace(cmp.Or(l.Href, l.Text)))
		if err != nil || u.String() == "" {
			continue
		}
		if base != nil {
			u = base.ResolveReference(u)
		}
		return u.String()
	}
	return ""
}

// feedTime reads a time as feeds write it; zero if it cannot.
func feedTime(s string) time.Time {
	s = strings.TrimSpace(s)
	for _, form := range []string{
		time.RFC3339, time.RFC1123Z, time.RFC1123, "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST",
		"2 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04:05 MST", "2006-01-02T15:04Z07:00", time.DateOnly,
	} {
		if t, err := time.Parse(form, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// Entries is a discovery of the entries of feeds, as items of a system and type. Records
// that are no feed have none.
func Entries(system, kind string) Discovery {
	return DiscoveryFunc(func(_ context.Context, r *Record) ([]Item, error) {
		f, err := ReadFeed(r)
		var list []Item
		if err != nil {
			return list, nil
		}
		for _, e := range f.Entries {
			i := Item{System: system, Source: r.Item.Source, Type: kind, ID: e.Link, URI: e.Link}
			if _, err := i.item(time.Time{}); err == nil && webURL(e.Link) != nil {
				list = append(list, i)
			}
		}
		return list, nil
	})
}
