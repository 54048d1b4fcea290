package records

import (
	"bytes"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// appendCellValue appends the canonical JSON that a cell stands for in a
// field, or nothing if the cell stands for no value.
func appendCellValue(dst []byte, f *onto.Field, cell []byte) ([]byte, error) {
	if len(cell) == 0 {
		switch {
		case !required(f):
			return dst, nil
		case f.Type == onto.String:
			return append(dst, `""`...), nil
		}
		return dst, onto.Errorf(onto.Invalid, "there is no value").WithHint("write a value of type %s", f.Type)
	}
	start := len(dst)
	dst, err := appendCellJSON(dst, f.Type, cell)
	if err != nil {
		return dst, err
	}
	if _, err := f.FitValue(dst[start:]); err != nil {
		if _, other := f.Type.Fit(dst[start:]); other == nil {
			return dst, err // it is of the type, but none of the values that the field can have
		}
		return dst, notOfType(f.Type, cell, err)
	}
	return dst, nil
}

// maxDigits is how many digits every number of an int can have.
const maxDigits = 18

// notOfType is the error for a cell that is no value of a type; why is what is known
// about the reason, or nil.
func notOfType(t onto.FieldType, cell []byte, why error) error {
	err := onto.Errorf(onto.Invalid, "expected %s, found %.80q", t, cell)
	digits := bytes.TrimLeft(bytes.TrimPrefix(cell, []byte("-")), "0123456789")
	switch t {
	case onto.Int:
		if len(digits) == 0 && why != nil && len(cell) > maxDigits {
			return onto.Errorf(onto.Invalid, "%w: %w", err, why).WithHint("an int has 64 bits; a longer number can be kept as text")
		}
		return err.WithHint("write a whole number in digits, such as 42 or -7, without spaces, separators or leading zeros")
	case onto.Float:
		return err.WithHint("write a number with a point, such as 3.5, -7 or 1e6, without spaces or separators")
	case onto.Bool:
		return err.WithHint("write true or false, in lower case")
	case onto.Time, onto.DateOnly:
		return why // which says how one is written
	}
	if onto.CodeOf(why) != "" { // it is JSON, of another type
		return why
	}
	if why != nil {
		err = onto.Errorf(onto.Invalid, "%w: %w", err, why)
	}
	return err.WithHint("values of type object, list and any are written as JSON, so text among them has quotes")
}

// appendCellJSON appends the JSON that a cell which is not empty stands for.
func appendCellJSON(dst []byte, t onto.FieldType, cell []byte) ([]byte, error) {
	switch t {
	case onto.String:
		text, err := cellText(cell)
		if err != nil {
			return dst, err
		}
		return codec.AppendString(dst, text)
	case onto.Time, onto.DateOnly:
		return codec.AppendString(dst, string(cell))
	case onto.Int, onto.Float, onto.Bool:
		if bytes.ContainsAny(cell, " \t\r\n\"[{") {
			return dst, notOfType(t, cell, nil)
		}
	}
	value, err := codec.AppendCanonical(dst, cell)
	if err != nil {
		return dst, notOfType(t, cell, err)
	}
	return value, nil
}

// cellText is the text that a cell stands for.
func cellText(cell []byte) (string, error) {
	if len(cell) == 0 || cell[0] != '"' {
		return string(cell), nil
	}
	canonical, err := codec.AppendCanonical(nil, cell)
	if err != nil {
		return "", onto.Errorf(onto.Invalid, "%w", err).WithHint("text that starts with a quote is written as a JSON string")
	}
	return codec.Unquote(canonical), nil // it starts with a quote, so it is text
}

// cellOf is the cell for a field's value, which is canonical JSON.
func cellOf(dst []byte, f *onto.Field, value []byte) []byte {
	switch f.Type {
	case onto.String:
		return appendTextCell(dst, codec.Unquote(value), !required(f))
	case onto.Time, onto.DateOnly:
		return appendCell(dst, codec.Unquote(value))
	}
	return appendCell(dst, string(value))
}

// appendTextCell appends text as a cell. It is written as a JSON string where it would
// be read as something else: absent if it is empty, or JSON.
func appendTextCell(dst []byte, text string, absent bool) []byte {
	if text == "" && absent || text != "" && text[0] == '"' {
		quoted, err := codec.AppendString(nil, text)
		if err == nil { // it came out of a canonical string
			text = string(quoted)
		}
	}
	return appendCell(dst, text)
}

// appendKeyCell appends the cell of a key field for a key.
func appendKeyCell(dst []byte, f *onto.Field, key string) []byte {
	if value, err := f.Type.KeyValue(key); err == nil {
		return cellOf(dst, f, value)
	}
	return appendTextCell(dst, key, false)
}
