// Package links finds the links of a document for a crawler, and gives each address one
// form, so that a resource is known by one name.
//
// # HTML
//
// Links are a[href], area[href], and link[href] whose rel names next, prev or canonical.
// Images, scripts, styles, frames, forms, srcset and meta refresh are none. Links in a
// template are left out; those in noscript count, since a crawler runs no scripts. The
// first base[href] of the document counts, for links before it too, if it leads to http or
// https. A link is marked NoFollow by rel=nofollow, ugc or sponsored, or for the whole
// document by meta[name=robots] with nofollow or none.
//
// The charset is determined as browsers do it: by a byte order mark, the charset of the
// content type, then a meta element in the first 1024 bytes. Without any, or if only a
// meta element says otherwise, a body that is valid UTF-8 is UTF-8; what is left is
// windows-1252. As in browsers, the query of a link is encoded in the document's charset,
// the path in UTF-8.
//
// # JSON
//
// Links are the values of given paths, or of the members next, links and @odata.nextLink
// of the top level. See JSON.
//
// # Limits
//
// Documents come from anywhere. No input makes a function panic, and work and memory are
// in proportion to the bytes that are read; what limits cut off is reported, not an error.
package links

import "net/url"

// Defaults and fixed limits.
const (
	MaxURL       = 8 << 10  // bytes of a URL, as given and in its normal form
	DefaultLinks = 10_000   // links of one document
	DefaultBytes = 16 << 20 // bytes of a document that are read

	maxToken  = 2 << 20 // bytes of one tag, text or script in HTML; the document is read up to a longer one
	maxValues = 100_000 // values of JSON in which links are looked for
	maxRel    = 256     // bytes of a link's rel that are kept
)

// Options change how documents are read. Nil is the default.
type Options struct {
	ContentType string // of the document as the server gave it; tells the charset of HTML
	MaxLinks    int    // different links of one document; 0 for DefaultLinks
	MaxBytes    int    // of a document that are read; 0 for DefaultBytes
	Form        *Form  // of the URLs
}

// Link is an address that a document refers to.
type Link struct {
	URL      *url.URL // in normal form: URL.String() is its identity
	Rel      string   // in lower case: the rel attribute, or the name of the member in JSON; may be ""
	NoFollow bool     // every mention of the address asks not to follow it
}

// Found is what a document refers to, without duplicates, in the order of the document.
// Links to the document itself are left out.
type Found struct {
	Links    []Link
	NoFollow bool // the document asks not to follow any of its links
	Refused  int  // references that are no http or https URL, or a malformed one
	Cut      bool // a limit was reached: there may be more links
}

func (o *Options) orDefault() Options {
	var r Options
	if o != nil {
		r = *o
	}
	if r.MaxLinks <= 0 {
		r.MaxLinks = DefaultLinks
	}
	if r.MaxBytes <= 0 {
		r.MaxBytes = DefaultBytes
	}
	return r
}

// collection gathers links, each once.
type collection struct {
	found Found
	base  parts
	form  *Form
	limit int
	at    map[string]int // position by identity; -1 for the document
}

func newCollection(document parts, base parts, o *Options) *collection {
	c := &collection{base: base, form: o.Form, limit: o.MaxLinks, at: map[string]int{}}
	if self, err := document.normal(o.Form); err == nil {
		c.at[self.String()] = -1
	}
	return c
}

// add resolves a reference. It returns false when the limit is reached.
func (c *collection) add(ref, rel string, noFollow bool) bool {
	u, err := resolve(c.base, ref, c.form)
	if err != nil {
		c.found.Refused++
		return true
	}
	key := u.String()
	if i, known := c.at[key]; known {
		if i >= 0 {
			c.found.Links[i].NoFollow = c.found.Links[i].NoFollow && noFollow
		}
		return true
	}
	if len(c.found.Links) == c.limit {
		c.found.Cut = true
		return false
	}
	c.at[key] = len(c.found.Links)
	c.found.Links = append(c.found.Links, Link{u, rel, noFollow})
	return true
}
