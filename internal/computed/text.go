package computed

import (
	"bytes"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// appendTexts appends all texts in the fields of a type, on lines of their own, as one text
// in quotes. What stands between the quotes of canonical texts is copied as it is.
func appendTexts(dst []byte, fields []onto.Field, object []byte) []byte {
	dst = append(dst, '"')
	start := len(dst)
	dst = appendMembers(dst, fields, object, true)
	if len(dst) > start {
		dst = dst[:len(dst)-len(newline)] // the last has none
	}
	return append(dst, '"')
}

const newline = `\n`

// anything is what stands where nothing is declared.
var anything = onto.Field{Type: onto.Any}

// appendMembers appends the texts in an object whose fields are declared: at the top without
// what the store adds.
func appendMembers(dst []byte, fields []onto.Field, object []byte, top bool) []byte {
	for quoted, value := range codec.Pairs(object) {
		for len(fields) > 0 && fields[0].Name != string(quoted) && fields[0].Name < codec.Name(quoted) {
			fields = fields[1:]
		}
		f := &anything
		if len(fields) > 0 && (fields[0].Name == string(quoted) || fields[0].Name == codec.Name(quoted)) {
			f = &fields[0]
		}
		if !top || !bytes.HasPrefix(quoted, prefix) {
			dst = appendText(dst, f, value)
		}
	}
	return dst
}

// appendText appends the texts in a value, each with a newline after it.
func appendText(dst []byte, f *onto.Field, value []byte) []byte {
	switch codec.KindOf(value) {
	case codec.String:
		if f.Type != onto.Time && f.Type != onto.DateOnly && len(value) > len(`""`) {
			dst = append(append(dst, value[1:len(value)-1]...), newline...)
		}
	case codec.List:
		for v := range codec.Elements(value) {
			dst = appendText(dst, or(f.Items), v)
		}
	case codec.Object:
		if f.Fields != nil {
			return appendMembers(dst, f.Fields, value, false)
		}
		for _, v := range codec.Pairs(value) {
			dst = appendText(dst, or(f.Values), v)
		}
	}
	return dst
}

func or(f *onto.Field) *onto.Field {
	if f == nil {
		return &anything
	}
	return f
}
