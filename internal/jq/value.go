package jq

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"

	"github.com/ontologia/onto/internal/codec"
)

// MaxResult is how many bytes of canonical JSON a program may return. A value
// can be much longer as text than in memory, where its parts are shared.
const MaxResult = 16 << 20

// decode turns canonical JSON into what the interpreter works on.
func decode(canonical []byte) any {
	switch codec.KindOf(canonical) {
	case codec.Bool:
		return canonical[0] == 't'
	case codec.Int:
		if n, err := strconv.ParseInt(string(canonical), 10, strconv.IntSize); err == nil {
			return int(n)
		}
		n, _ := new(big.Int).SetString(string(canonical), 10)
		return n
	case codec.Float:
		f, _ := strconv.ParseFloat(string(canonical), 64)
		return f
	case codec.String:
		return codec.Unquote(canonical)
	case codec.List:
		list := []any{}
		for e := range codec.Elements(canonical) {
			list = append(list, decode(e))
		}
		return list
	case codec.Object:
		object := map[string]any{}
		for _, m := range codec.Members(canonical) {
			object[m.Name] = decode(m.Value)
		}
		return object
	}
	return nil
}

// encode is the canonical JSON of an object that a program returned.
func encode(object map[string]any, size int) ([]byte, error) {
	out, err := appendValue(make([]byte, 0, size+size/4+16), object, 0)
	if err != nil {
		return nil, fmt.Errorf("the program returned what cannot be stored: %w", err)
	}
	return out, nil
}

func appendValue(dst []byte, v any, depth int) ([]byte, error) {
	if len(dst) > MaxResult {
		return dst, fmt.Errorf("more than %d bytes", MaxResult)
	}
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case *big.Int:
		if !v.IsInt64() {
			return dst, fmt.Errorf("the integer %s is outside int64", brief(v))
		}
		return strconv.AppendInt(dst, v.Int64(), 10), nil
	case float64:
		if dst, err := codec.AppendFloat(dst, v); err == nil {
			return dst, nil
		}
		return dst, fmt.Errorf("the number %v", v)
	case json.Number:
		out, err := codec.AppendCanonical(dst, []byte(v))
		return out, bare(err)
	case string:
		out, err := codec.AppendString(dst, v)
		return out, bare(err)
	case []any:
		return appendList(dst, v, depth+1)
	case map[string]any:
		return appendObject(dst, v, depth+1)
	}
	return dst, fmt.Errorf("a %T", v)
}

func appendList(dst []byte, list []any, depth int) ([]byte, error) {
	if depth > codec.MaxDepth {
		return dst, fmt.Errorf("nested deeper than %d", codec.MaxDepth)
	}
	dst = append(dst, '[')
	for i, e := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendValue(dst, e, depth); err != nil {
			return dst, within(fmt.Sprintf("[%d]", i), err)
		}
	}
	return append(dst, ']'), nil
}

func appendObject(dst []byte, object map[string]any, depth int) ([]byte, error) {
	if depth > codec.MaxDepth {
		return dst, fmt.Errorf("nested deeper than %d", codec.MaxDepth)
	}
	names := slices.AppendSeq(make([]string, 0, len(object)), maps.Keys(object))
	slices.Sort(names)
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		out, err := codec.AppendString(dst, name)
		if err != nil {
			return dst, fmt.Errorf("the name %.80q: %w", name, bare(err))
		}
		if dst, err = appendValue(append(out, ':'), object[name], depth); err != nil {
			return dst, within("."+name, err)
		}
	}
	return append(dst, '}'), nil
}

// placed is an error at a place inside a value.
type placed struct {
	path string
	err  error
}

// Error names the place.
func (p *placed) Error() string { return "at " + shorten(p.path) + ": " + p.err.Error() }

// within puts a step in front of the path of an error.
func within(step string, err error) error {
	if p, ok := err.(*placed); ok {
		p.path = step + p.path
		return p
	}
	return &placed{step, err}
}

// bare is an error of the codec without the place, which is about a part only.
func bare(err error) error {
	if syntax := (*codec.SyntaxError)(nil); errors.As(err, &syntax) {
		return errors.New(syntax.Msg)
	}
	return err
}

// brief is an integer for a message, however long it is.
func brief(n *big.Int) string {
	if n.BitLen() > 200 {
		return fmt.Sprintf("of %d bits", n.BitLen())
	}
	return n.String()
}
