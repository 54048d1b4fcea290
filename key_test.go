package onto_test

import (
	"math"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/effort"
)

// Keys as Python's str writes the values; each leads back to its value.
func TestKeyText(t *testing.T) {
	for _, c := range []struct {
		typ         onto.FieldType
		value, want string
	}{
		{onto.String, `"a\"b"`, `a"b`},
		{onto.Int, "-7", "-7"},
		{onto.Float, "1", "1.0"},
		{onto.Float, "0", "0.0"},
		{onto.Float, "-3", "-3.0"},
		{onto.Float, "2.5", "2.5"},
		{onto.Float, "0.30000000000000004", "0.30000000000000004"},
		{onto.Float, "0.0001", "0.0001"},
		{onto.Float, "0.00001", "1e-05"},
		{onto.Float, "0.000012345", "1.2345e-05"},
		{onto.Float, "9999999999999998", "9999999999999998.0"},
		{onto.Float, "10000000000000000", "1e+16"},
		{onto.Float, "1.2345678901234567e19", "1.2345678901234567e+19"},
		{onto.Float, "1e300", "1e+300"},
		{onto.Float, "5e-324", "5e-324"},
		{onto.Bool, "true", "True"},
		{onto.Bool, "false", "False"},
	} {
		if got := c.typ.KeyText([]byte(c.value)); got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.typ, c.value, got, c.want)
		}
		back, err := c.typ.KeyValue(c.want)
		want, _ := codec.AppendCanonical(nil, []byte(c.value))
		if err != nil || string(back) != string(want) {
			t.Errorf("%s %s: got %s back, error %v; want %s", c.typ, c.want, back, err, want)
		}
	}
}

func TestKeyValueRefuses(t *testing.T) {
	for _, c := range []struct {
		typ       onto.FieldType
		key, want string // in message or hint
	}{
		{onto.Int, "01", `"01" is not an integer`},
		{onto.Int, "1.0", "not an integer"},
		{onto.Float, "1", "write 1.0"},
		{onto.Float, "1e16", "write 1e+16"},
		{onto.Float, "2.50", "write 2.5"},
		{onto.Float, "nan", "not a float"},
		{onto.Float, "-inf", "not a float"},
		{onto.Float, "1e999", "not a float"},
		{onto.Float, "x", "not a float"},
		{onto.Bool, "true", "True or False"},
		{onto.Bool, "1", "True or False"},
	} {
		_, err := c.typ.KeyValue(c.key)
		if onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error()+onto.HintOf(err).Text, c.want) {
			t.Errorf("%s %s: got %v, hint %q; want %q", c.typ, c.key, err, onto.HintOf(err).Text, c.want)
		}
	}
}

func TestFloatKeysLeadBack(t *testing.T) {
	random := effort.Rand(t)
	for range effort.Count(t, 100_000) {
		f := math.Float64frombits(random.Uint64())
		value, err := codec.AppendFloat(nil, f)
		if err != nil {
			continue // not finite
		}
		key := onto.Float.KeyText(value)
		back, err := onto.Float.KeyValue(key)
		if err != nil || string(back) != string(value) {
			t.Fatalf("%s: key %s leads back to %s, error %v", value, key, back, err)
		}
	}
}
