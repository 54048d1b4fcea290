package onto

import "reflect"

// Link makes a struct a relation from an L to an R when it is embedded. It
// holds the keys of the two endpoints, which are part of the relation's
// identity and not of its fields.
type Link[L, R any] struct {
	Left  string `json:"-"`
	Right string `json:"-"`
}

// Between is the link between two keys.
func Between[L, R any](left, right string) Link[L, R] {
	return Link[L, R]{Left: left, Right: right}
}

func (l Link[L, R]) endpoints() (link, left, right reflect.Type) {
	return reflect.TypeOf(l), reflect.TypeFor[L](), reflect.TypeFor[R]()
}

// linked is a Link, or a struct that embeds one: link is the Link's own type.
type linked interface {
	endpoints() (link, left, right reflect.Type)
}
