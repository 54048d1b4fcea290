package onto_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ontologia/onto"
)

// fieldOf is a schema with one field that has this default.
func fieldOf(ft onto.FieldType, text string) onto.Schema {
	return onto.Schema{
		Kind: onto.KindRelation, Name: "R", Left: "A", Right: "B",
		Fields: []onto.Field{{Name: "x", Type: ft, Default: json.RawMessage(text)}},
	}
}

// parsedDefault is the default after ParseSchema, which makes it canonical.
func parsedDefault(ft onto.FieldType, text string) (string, error) {
	doc := `{"kind":"relation","name":"R","left":"A","right":"B","fields":{"x":{"type":"` + string(ft) + `","default":` + text + `}}}`
	s, err := onto.ParseSchema([]byte(doc))
	if err != nil {
		return "", err
	}
	return string(s.Fields[0].Default), nil
}

func TestDefaultsBecomeCanonical(t *testing.T) {
	for _, c := range []struct {
		ft         onto.FieldType
		text, want string
	}{
		{onto.String, `"Silver"`, `"Silver"`},
		{onto.String, `"\u003cb\u003e \u00e9\ud83d\ude00\/ \u001f\t\u2028"`, "\"<b> é😀/ \\u001f\\t\u2028\""},
		{onto.Int, "1.0", "1"},
		{onto.Int, "-0", "0"},
		{onto.Int, "9223372036854775807", "9223372036854775807"},
		{onto.Float, "1", "1"},
		{onto.Float, "1.50", "1.5"},
		{onto.Float, "1e20", "1e20"},
		{onto.Float, "0.000001", "0.000001"},
		{onto.Float, "0.00000012", "1.2e-7"},
		{onto.Float, "5e-324", "5e-324"},
		{onto.Float, "-1.5E+300", "-1.5e300"},
		{onto.Bool, "false", "false"},
		{onto.Time, `"2026-02-10T12:34:56Z"`, `"2026-02-10T12:34:56.000000+00:00"`},
		{onto.Time, `"2026-02-10t12:34:56.1234567+05:30"`, `"2026-02-10T07:04:56.123456+00:00"`},
		{onto.Object, ` { "b" : [ ] , "a" : null } `, `{"a":null,"b":[]}`},
		{onto.List, `[1.0, "x", {"d":1,"c":2}]`, `[1,"x",{"c":2,"d":1}]`},
		{onto.Any, `0`, `0`},
		{onto.Any, `{}`, `{}`},
	} {
		got, err := parsedDefault(c.ft, c.text)
		if err != nil || got != c.want {
			t.Errorf("%s %s: got %s, %v, want %s", c.ft, c.text, got, err, c.want)
		}
		if err := fieldOf(c.ft, c.want).Check(); err != nil {
			t.Errorf("%s %s is canonical, but Check says %v", c.ft, c.want, err)
		}
	}
}

func TestDefaultsThatDoNotFit(t *testing.T) {
	deep := strings.Repeat("[", 64) + strings.Repeat("]", 64)
	for _, c := range []struct {
		ft         onto.FieldType
		text, want string
	}{
		{onto.String, "1", "expected string, found int"},
		{onto.String, "null", "expected string, found null"},
		{onto.Any, "null", "expected any, found null"},
		{onto.Int, "1.5", "expected int, found float"},
		{onto.Int, "1e20", "expected int, found float"},
		{onto.Int, `"1"`, "expected int, found string"},
		{onto.Int, "9223372036854775808", "outside int64"},
		{onto.Float, "true", "expected float, found bool"},
		{onto.Float, "1e400", "outside float64"},
		{onto.Bool, "0", "expected bool, found int"},
		{onto.Time, `"today"`, `"today" is not a time`},
		{onto.Time, `"0000-01-01T00:00:00Z"`, "outside 1 to 9999"},
		{onto.Time, "1760000000", "expected time, found int"},
		{onto.Object, "[]", "expected object, found list"},
		{onto.List, "{}", "expected list, found object"},
		{onto.Any, `["a\u0000"]`, "contains U+0000"},
		{onto.Any, `{"a\u0000":1}`, "contains U+0000"},
		{onto.Any, `{"a":[1e999]}`, "outside float64"},
		{onto.Any, deep, "nested deeper than 64"},
	} {
		if got, err := parsedDefault(c.ft, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: got %s, %v, want %q", c.ft, c.text, got, err, c.want)
		}
	}
}

func TestDefaultsThatEnginesReadDifferently(t *testing.T) {
	for name, text := range map[string]string{
		"duplicate names": `{"a":1,"a":2}`,
		"lone surrogate":  `"\ud800"`,
		"invalid UTF-8":   "\"\xff\"",
		"spaces":          `{"a": 1}`,
		"two values":      `1 2`,
	} {
		if err := fieldOf(onto.Any, text).Check(); err == nil {
			t.Errorf("%s: %s is accepted", name, text)
		}
	}
}
