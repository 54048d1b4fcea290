package onto_test

import (
	"strings"
	"testing"

	"github.com/ontologia/onto"
)

// Each key leads back to its value.
func TestKeyText(t *testing.T) {
	for _, c := range []struct {
		typ         onto.FieldType
		value, want string
	}{
		{onto.String, `"a\"b"`, `a"b`},
		{onto.Int, "-7", "-7"},
	} {
		if got := c.typ.KeyText([]byte(c.value)); got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.typ, c.value, got, c.want)
		}
		if back, err := c.typ.KeyValue(c.want); err != nil || string(back) != c.value {
			t.Errorf("%s %s: got %s back, error %v; want %s", c.typ, c.want, back, err, c.value)
		}
	}
}

func TestKeyValueRefuses(t *testing.T) {
	for _, key := range []string{"01", "1.0", "x", ""} {
		_, err := onto.Int.KeyValue(key)
		if onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), "is not an integer") {
			t.Errorf("%q: got %v, want a refusal", key, err)
		}
	}
}
