package links

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// HTML finds the links of a document that came from an absolute URL.
func HTML(body []byte, document *url.URL, o *Options) (Found, error) {
	self, err := partsOf(document)
	if err != nil {
		return Found{}, err
	}
	opts := o.orDefault()
	var cut bool
	if len(body) > opts.MaxBytes {
		body, cut = body[:opts.MaxBytes], true
	}
	text, set := decode(body, opts.ContentType)
	s := scan(text, opts.MaxLinks)

	base := self
	if u, err := resolve(self, clean(s.base), nil); s.hasBase && err == nil {
		if base, err = partsOf(u); err != nil {
			return Found{}, err
		}
	}
	c := newCollection(self, base, &opts)
	for _, r := range s.refs {
		if !c.add(set.reference(r.href), r.rel, s.noFollow || r.noFollow) {
			break
		}
	}
	c.found.NoFollow = s.noFollow
	c.found.Refused += s.refused
	c.found.Cut = c.found.Cut || cut || s.cut
	return c.found, nil
}

// RobotsNoFollow reports whether the content of meta[name=robots], or the value of the
// header X-Robots-Tag, asks not to follow the links of the document. A value of the header
// that is for one crawler, as in "otherbot: nofollow", is not for others.
func RobotsNoFollow(content string) bool {
	for rule := range strings.FieldsFuncSeq(strings.ToLower(content), func(r rune) bool { return r == ',' || isSpace(r) }) {
		if strings.HasSuffix(rule, ":") {
			return false
		}
		if rule == "nofollow" || rule == "none" {
			return true
		}
	}
	return false
}

// reference is a link before it is resolved: the base may come later.
type reference struct {
	href, rel string
	noFollow  bool
}

// scanned is what one pass over a document finds.
type scanned struct {
	refs     []reference
	base     string
	hasBase  bool
	noFollow bool
	refused  int
	cut      bool
}

// scan reads the tags of a document. It builds no tree, so nesting costs nothing.
func scan(text []byte, limit int) scanned {
	var s scanned
	z := html.NewTokenizer(bytes.NewReader(text))
	z.SetMaxBuf(maxToken)
	known := map[string]int{} // position by href
	templates := 0
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			s.cut = s.cut || z.Err() == html.ErrBufferExceeded
			return s
		}
		if kind == html.TextToken || kind == html.CommentToken || kind == html.DoctypeToken {
			continue
		}
		name, hasAttributes := z.TagName()
		tag := string(name)
		if tag == "template" {
			if kind != html.EndTagToken {
				templates++
			} else if templates > 0 {
				templates--
			}
			continue
		}
		if kind == html.EndTagToken {
			continue
		}
		if tag == "noscript" {
			z.NextIsNotRawText()
		}
		if !hasAttributes || templates > 0 {
			continue
		}
		switch tag {
		case "a", "area", "link":
			if r, ok := linkOf(z, tag); ok {
				s.take(r, known, limit)
			}
		case "base":
			if href, has := attributes(z, "href")["href"]; has && !s.hasBase {
				s.base, s.hasBase = href, true
			}
		case "meta":
			a := attributes(z, "name", "content")
			if strings.EqualFold(strings.TrimFunc(a["name"], isSpace), "robots") && RobotsNoFollow(a["content"]) {
				s.noFollow = true
			}
		}
	}
}

// take keeps a reference, once; it may be followed unless every mention asks not to.
func (s *scanned) take(r reference, known map[string]int, limit int) {
	i, again := known[r.href]
	switch n := schemeLength(r.href); {
	case n > 0 && !strings.EqualFold(r.href[:n], "http") && !strings.EqualFold(r.href[:n], "https"):
		s.refused++
	case again:
		s.refs[i].noFollow = s.refs[i].noFollow && r.noFollow
	case len(s.refs) == limit:
		s.cut = true
	default:
		known[r.href] = len(s.refs)
		s.refs = append(s.refs, r)
	}
}

// linkOf reads the tag of a link; false if it does not lead to another document.
func linkOf(z *html.Tokenizer, tag string) (reference, bool) {
	a := attributes(z, "href", "rel")
	rel := strings.Fields(strings.ToLower(a["rel"]))
	if tag == "link" && !slices.ContainsFunc(rel, func(r string) bool { return r == "next" || r == "prev" || r == "canonical" }) {
		return reference{}, false
	}
	href, _, _ := strings.Cut(clean(a["href"]), "#")
	if href == "" {
		return reference{}, false
	}
	noFollow := slices.ContainsFunc(rel, func(r string) bool { return r == "nofollow" || r == "ugc" || r == "sponsored" })
	return reference{href, shorten(strings.Join(rel, " ")), noFollow}, true
}

// attributes returns the named attributes of the current tag. Of attributes with one name
// the first counts.
func attributes(z *html.Tokenizer, names ...string) map[string]string {
	found := map[string]string{}
	for more := true; more; {
		var key, value []byte
		key, value, more = z.TagAttr()
		if name := string(key); slices.Contains(names, name) {
			if _, again := found[name]; !again {
				found[name] = string(value)
			}
		}
	}
	return found
}

// clean does what browsers do with the value of an attribute that is a URL: control
// characters and spaces around it are dropped, and line breaks and tabs within.
func clean(href string) string {
	href = strings.TrimFunc(href, func(r rune) bool { return r <= ' ' })
	if !strings.ContainsAny(href, "\t\n\r") {
		return href
	}
	return strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(href)
}

func shorten(rel string) string {
	if len(rel) > maxRel {
		return strings.ToValidUTF8(rel[:maxRel], "")
	}
	return rel
}

func isSpace(r rune) bool { return r == ' ' || '\t' <= r && r <= '\r' }
