package work

import (
	"bytes"
	"cmp"
	"encoding/json"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/work"
)

// filler makes the value of a field; nil if the resource has none.
type filler struct {
	typ      onto.FieldType
	make     func(*page) any
	optional bool // the field is left out rather than empty
}

// fillers are the fields that a resource can fill in, by their names. When it was fetched
// is not among them: each fetch would make a commit.
func fillers() map[string]filler {
	return map[string]filler{
		"url":           {typ: onto.String, make: func(p *page) any { return cmp.Or(p.URL, p.Item.URI) }},
		"status":        {typ: onto.Int, make: func(p *page) any { return p.Status }},
		"content_type":  {typ: onto.String, make: func(p *page) any { return p.ContentType }},
		"title":         {typ: onto.String, make: func(p *page) any { return p.title }},
		"text":          {typ: onto.String, make: func(p *page) any { return p.text }},
		"json":          {typ: onto.Any, make: (*page).document},
		"source":        {typ: onto.String, make: func(p *page) any { return p.Item.Source }},
		"resource_type": {typ: onto.String, make: func(p *page) any { return p.Item.Type }},
	}
}

// into is a writer that makes each resource an entity of a type.
func into(s *store.Store, name string) (work.Writer, error) {
	schema, err := s.Type(name)
	if err != nil {
		return nil, err
	}
	if schema.Kind != onto.KindEntity {
		return nil, onto.Errorf(onto.Invalid, "%s is a relation, and a resource becomes an entity", name).WithHint("name a type of entities")
	}
	fill := map[string]filler{}
	for _, field := range schema.Fields {
		known, ok := fillers()[field.Name]
		switch {
		case field.Name == schema.Key:
			if field.Type != onto.String && field.Type != onto.Any {
				return nil, onto.Errorf(onto.Invalid, "the key %s of %s has the type %s, and ids of resources are strings", field.Name, name, field.Type)
			}
		case ok && (known.typ.Within(field.Type) || field.Name == "json" && (field.Type == onto.Object || field.Type == onto.List)):
			known.optional = field.Optional
			fill[field.Name] = known
		case ok:
			return nil, onto.Errorf(onto.Invalid, "the field %s of %s has the type %s, and what fills it in has the type %s", field.Name, name, field.Type, known.typ)
		case !field.Optional && field.Default == nil:
			return nil, onto.Errorf(onto.Invalid, "%s needs the field %s, which no resource fills in", name, field.Name).
				WithHint("make it optional; filled in are url, status, content_type, title, text, json, source and resource_type")
		}
	}
	return work.Ensure(s, func(r *work.Record) ([]any, error) {
		p := read(r)
		fields := map[string]any{}
		for name, f := range fill {
			if v := f.make(p); v != nil && !(f.optional && v == "") {
				fields[name] = v
			}
		}
		return []any{onto.Entity{Type: name, Key: r.Item.Resource, Fields: fields}}, nil
	}), nil
}

// page is a resource, and what can be read from its body.
type page struct {
	*work.Record
	title, text string
	json        json.RawMessage // nil if the body is none
}

func (p *page) document() any {
	if p.json == nil {
		return nil
	}
	return p.json
}

func read(r *work.Record) *page {
	p := &page{Record: r}
	media, params, _ := mime.ParseMediaType(r.ContentType)
	switch {
	case media == "text/html" || media == "application/xhtml+xml":
		p.readHTML()
	case media == "application/json" || strings.HasSuffix(media, "+json"):
		if json.Valid(r.Body) {
			p.json = r.Body
		}
	case strings.HasPrefix(media, "text/") || utf8.Valid(r.Body) && params["charset"] != "":
		p.text = string(decoded(r))
	}
	return p
}

// decoded is the body in UTF-8.
func decoded(r *work.Record) []byte {
	e, name, certain := charset.DetermineEncoding(r.Body, r.ContentType)
	if name != "utf-8" && (certain || !utf8.Valid(r.Body)) {
		if text, err := e.NewDecoder().Bytes(r.Body); err == nil {
			return text
		}
	}
	return bytes.ToValidUTF8(bytes.TrimPrefix(r.Body, []byte("\ufeff")), []byte("\ufffd"))
}

// readHTML takes the title, and the text that a reader sees, with single spaces.
func (p *page) readHTML() {
	z := html.NewTokenizer(bytes.NewReader(decoded(p.Record)))
	var title, text strings.Builder
	var inside atom.Atom // an element whose contents are not text
	titled := false
	for {
		switch z.Next() {
		case html.ErrorToken: // the end
			p.title, p.text = spaced(title.String()), spaced(text.String())
			return
		case html.TextToken:
			switch inside {
			case 0:
				text.Write(z.Text())
				text.WriteByte(' ')
			case atom.Title:
				if !titled { // pictures have titles, too
					title.Write(z.Text())
				}
			}
		case html.StartTagToken:
			name, _ := z.TagName()
			switch a := atom.Lookup(name); a {
			case atom.Title, atom.Script, atom.Style, atom.Noscript, atom.Template:
				if inside == 0 {
					inside = a
				}
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); inside != 0 && atom.Lookup(name) == inside {
				titled = titled || inside == atom.Title
				inside = 0
			}
		}
	}
}

// spaced is text with single spaces, without its references.
func spaced(text string) string {
	return strings.Join(strings.Fields(html.UnescapeString(text)), " ")
}
