package format

import "errors"

// Kind is what a page holds.
type Kind int32

// The kinds of pages that are written and read.
const (
	DataPage       Kind = 0
	DictionaryPage Kind = 2
)

// Page is the head of a page.
type Page struct {
	Kind                     Kind
	Uncompressed, Compressed int32 // bytes after the head
	Values                   int32 // NULL among them
	Encoding                 Encoding
}

var errPage = errors.New("a page has an unknown form")

// ReadPage decodes the head of a page and tells how many bytes it has.
func ReadPage(data []byte) (p Page, size int, err error) {
	p = Page{Kind: -1, Uncompressed: -1, Compressed: -1, Values: -1, Encoding: -1}
	d := &decoder{data: data}
	d.fields(func(id int, wire byte) bool {
		switch {
		case id == 1 && wire == wireI32:
			p.Kind = Kind(d.int32())
		case id == 2 && wire == wireI32:
			p.Uncompressed = d.int32()
		case id == 3 && wire == wireI32:
			p.Compressed = d.int32()
		case (id == 5 || id == 7) && wire == wireStruct:
			d.pageHead(&p, id)
		default:
			return false
		}
		return true
	})
	switch {
	case d.err != nil:
		return p, 0, d.err
	case p.Kind != DataPage && p.Kind != DictionaryPage || p.Uncompressed < 0 || p.Compressed < 0 || p.Values < 0 || p.Encoding < 0:
		return p, 0, errPage
	}
	return p, d.at, nil
}

// pageHead reads what the head has for one kind of page.
func (d *decoder) pageHead(p *Page, id int) {
	d.fields(func(field int, wire byte) bool {
		switch {
		case field == 1 && wire == wireI32:
			p.Values = d.int32()
		case field == 2 && wire == wireI32:
			p.Encoding = Encoding(d.int32())
		case id == 5 && field == 3 && wire == wireI32: // of the levels
			if Encoding(d.int32()) != Hybrid {
				d.fail(errPage)
			}
		default:
			return false
		}
		return true
	})
}

// AppendPage appends the head of a page.
func AppendPage(out []byte, p *Page) []byte {
	e := &encoder{out: out}
	e.item(func() {
		e.int32(1, int32(p.Kind))
		e.int32(2, p.Uncompressed)
		e.int32(3, p.Compressed)
		if p.Kind == DictionaryPage {
			e.structure(7, func() {
				e.int32(1, p.Values)
				e.int32(2, int32(p.Encoding))
			})
			return
		}
		e.structure(5, func() {
			e.int32(1, p.Values)
			e.int32(2, int32(p.Encoding))
			e.int32(3, int32(Hybrid))
			e.int32(4, int32(Hybrid))
		})
	})
	return e.out
}

// Location is where a page is, and its first row.
type Location struct {
	Offset   int64
	Bytes    int32 // with its head
	FirstRow int64
}

// ReadOffsets decodes where the pages of a column are.
func ReadOffsets(data []byte) ([]Location, error) {
	var list []Location
	d := &decoder{data: data}
	d.fields(func(id int, wire byte) bool {
		if id != 1 || wire != wireList {
			return false
		}
		d.list(wireStruct, func() { list = append(list, d.location()) })
		return true
	})
	return list, d.err
}

func (d *decoder) location() Location {
	l := Location{Offset: -1, Bytes: -1, FirstRow: -1}
	d.fields(func(id int, wire byte) bool {
		switch {
		case id == 1 && wire == wireI64:
			l.Offset = d.int64()
		case id == 2 && wire == wireI32:
			l.Bytes = d.int32()
		case id == 3 && wire == wireI64:
			l.FirstRow = d.int64()
		default:
			return false
		}
		return true
	})
	if l.Offset < 0 || l.Bytes < 0 || l.FirstRow < 0 {
		d.fail(errIncomplete)
	}
	return l
}

// AppendOffsets appends where the pages of a column are.
func AppendOffsets(out []byte, list []Location) []byte {
	e := &encoder{out: out}
	e.item(func() {
		e.list(1, wireStruct, len(list))
		for _, l := range list {
			e.item(func() {
				e.int64(1, l.Offset)
				e.int32(2, l.Bytes)
				e.int64(3, l.FirstRow)
			})
		}
	})
	return e.out
}

// AppendBounds appends the least and greatest values of the pages of a column. All of
// them have some.
func AppendBounds(out []byte, pages []Statistics) []byte {
	e := &encoder{out: out}
	e.item(func() {
		e.list(1, wireTrue, len(pages)) // which pages have only NULL
		for range pages {
			e.out = append(e.out, wireFalse)
		}
		e.list(2, wireBinary, len(pages))
		for _, p := range pages {
			e.element(p.Min)
		}
		e.list(3, wireBinary, len(pages))
		for _, p := range pages {
			e.element(p.Max)
		}
		e.int32(4, 0) // their order is not told
		e.list(5, wireI64, len(pages))
		for range pages {
			e.out = append(e.out, 0)
		}
	})
	return e.out
}
