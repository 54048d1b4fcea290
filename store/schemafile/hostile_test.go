package schemafile_test

import (
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store/schemafile"
)

// bomb is the well-known file that grows a thousandfold per line when its
// aliases are followed.
const bomb = `a: &a [x, x, x, x, x, x, x, x, x]
b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]
c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]
d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c]
`

func TestParseRefusesWhatIsMoreThanValues(t *testing.T) {
	const hint = "write the value out"
	for _, c := range []refusal{
		{"bomb", bomb, "line 1, column 4: a: anchors (&a) are not allowed in a schema file", hint},
		{"anchor", "entities:\n  A: &base {key: id}\n", "line 2, column 6: entities.A: anchors (&base) are not allowed in a schema file", hint},
		{"anchor on a key", "entities:\n  &x A: {key: id}\n", "line 2, column 3: entities: anchors (&x) are not allowed in a schema file", hint},
		{"alias of nothing", "entities: # none\n  A: *base\n", "line 2, column 6: aliases (*base) are not allowed in a schema file", hint},
		{"alias of itself", "entities: &a [*a]\n", "line 1, column 11: entities: anchors (&a) are not allowed in a schema file", hint},
		{"merge key", "entities:\n  <<: {}\n", "line 2, column 3: entities: merge keys (<<) are not allowed in a schema file", hint},
		{"tag", "entities:\n  A: !!map {key: id}\n", "line 2, column 6: entities.A: tags (!!map) are not allowed in a schema file", hint},
		{"own tag", "entities: !go/struct {}\n", "line 1, column 11: entities: tags (!go/struct) are not allowed in a schema file", hint},
		{"tag on text", field("{type: !!str int}"), "line 5, column 26: relations.R.fields.age.type: tags (!!str) are not allowed in a schema file", hint},
	} {
		t.Run(c.name, c.check)
	}
}

func TestParseRefusesDepth(t *testing.T) {
	for name, file := range map[string]string{
		"lists":       strings.Repeat("[", 1000) + strings.Repeat("]", 1000),
		"mappings":    strings.Repeat("{a: ", 1000) + strings.Repeat("}", 1000),
		"block lists": strings.Repeat("- ", 1000) + "x",
		"JSON":        strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000),
		"far deeper":  strings.Repeat("[", 1<<20),
		"deep JSON":   strings.Repeat(`{"a":`, 1<<18),
		"deep blocks": strings.Repeat("- ", 1<<20),
		"deep keys":   strings.Repeat("? ", 1<<20),
	} {
		if _, err := schemafile.Parse([]byte(file)); onto.CodeOf(err) != onto.Invalid || len(err.Error()) > 1000 {
			t.Errorf("%s: got %v, want a short error", name, err)
		}
	}
}

func TestParseRefusesSize(t *testing.T) {
	big := example + strings.Repeat("#", schemafile.MaxSize-len(example))
	if _, err := schemafile.Parse([]byte(big)); err != nil {
		t.Errorf("at the limit: got %v, want no error", err)
	}
	if _, err := schemafile.Parse([]byte(big + "#")); onto.CodeOf(err) != onto.TooLarge {
		t.Errorf("above the limit: got %v, want TooLarge", err)
	}
	endless := &endlessReader{}
	if _, err := schemafile.Read(endless); onto.CodeOf(err) != onto.TooLarge {
		t.Errorf("without end: got %v, want TooLarge", err)
	}
	if endless.read > 2*schemafile.MaxSize {
		t.Errorf("got %d bytes read, want about %d", endless.read, schemafile.MaxSize)
	}
}

type endlessReader struct{ read int }

func (r *endlessReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '#'
	}
	r.read += len(p)
	return len(p), nil
}

func TestParseKeepsMessagesShort(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, file := range map[string]string{
		"key":     `"` + long + `": 1`,
		"type":    field("{type: " + long + "}"),
		"default": field("{type: int, default: " + long + "}"),
		"name":    field("{type: int}") + "      " + long + ": 1",
		"alias":   "a: *" + long,
		"tag":     "a: !" + long + " 1",
		"number":  field("{type: int, default: 1_" + strings.Repeat("0", 1<<20) + "}"),
		"left":    "relations: {R: {left: " + long + "}}",
	} {
		if _, err := schemafile.Parse([]byte(file)); err == nil || len(err.Error())+len(onto.HintOf(err).String()) > 1000 {
			t.Errorf("%s: got no error, or a long one", name)
		}
	}
}
