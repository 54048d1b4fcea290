package links

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/effort"
)

func TestJSON(t *testing.T) {
	for _, c := range []struct {
		name  string
		paths []string
		body  string
		want  []string
	}{
		{"next", nil, `{"next": "/p2", "previous": "/p0", "data": {"next": "/no"}}`, []string{"next http://api.example/p2"}},
		{"next as an object", nil, `{"next": {"href": "?page=2", "url": "/other"}}`, []string{"next http://api.example/v1/items?page=2"}},
		{"next is null, a number, false", nil, `{"next": null, "links": [1, false, {}]}`, nil},
		{"links as a list of strings", nil, `{"links": ["http://a/", "/b", "../c", "./d", "HTTPS://e"]}`,
			[]string{"links http://a/", "links http://api.example/b", "links http://api.example/c", "links http://api.example/v1/d", "links https://e/"}},
		{"links as a list of objects", nil, `{"links": [{"rel": "Next", "href": "/n"}, {"rel": "self", "href": "items"}, {"url": "/u"}]}`,
			[]string{"next http://api.example/n", "links http://api.example/u"}},
		{"links by relation", nil, `{"links": {"self": "/v1/items", "next": "/n", "last": {"href": "/l", "meta": {}}, "related": ["/r", {"href": "/s"}], "prev": null}}`,
			[]string{"next http://api.example/n", "last http://api.example/l", "related http://api.example/r", "related http://api.example/s"}},
		{"OData", nil, `{"@odata.nextLink": "http://api.example/v1/items?$skiptoken=X'1'"}`, []string{"@odata.nextlink http://api.example/v1/items?$skiptoken=X'1'"}},
		{"templates", nil, `{"links": {"find": {"href": "/find{?q}", "templated": true}, "next": {"href": "/n", "templated": false}}}`, []string{"next http://api.example/n"}},
		{"the same link twice", nil, `{"next": "/n", "links": {"next": "/n#x"}}`, []string{"next http://api.example/n"}},
		{"escapes", nil, `{"n\u0065xt": "\u002fa\/b?c=\u00e9"}`, []string{"next http://api.example/a/b?c=%C3%A9"}},
		{"byte order mark and spaces", nil, "\ufeff \n{ \"next\" : \"/n\" }\n", []string{"next http://api.example/n"}},
		{"not an object", nil, `["/a"]`, nil},
		{"a scalar", nil, `"/a"`, nil},
		{"too deep", nil, `{"links": [[[["/a"]]]]}`, nil},
		{"a given path", []string{"$.paging.next"}, `{"next": "/no", "paging": {"next": "/yes"}}`, []string{"next http://api.example/yes"}},
		{"several paths", []string{"$.b", "$.a"}, `{"a": "/a", "b": "/b"}`, []string{"b http://api.example/b", "a http://api.example/a"}},
		{"every element", []string{"$.items[*].page"}, `{"items": [{"page": "/1"}, {}, 7, {"page": {"url": "/2"}}]}`, []string{"page http://api.example/1", "page http://api.example/2"}},
		{"one element", []string{"$.items[1]"}, `{"items": ["/0", "/1", "/2"]}`, []string{"items http://api.example/1"}},
		{"every member", []string{"$.pages.*.href"}, `{"pages": {"a": {"href": "/a"}, "b": {"href": "/b"}}}`, []string{"href http://api.example/a", "href http://api.example/b"}},
		{"names in quotes", []string{`$['a b']["@id"]`}, `{"a b": {"@id": "/x"}}`, []string{"@id http://api.example/x"}},
		{"the document", []string{"$"}, `["/a", {"href": "/b"}]`, []string{"http://api.example/a", "http://api.example/b"}},
		{"HAL", []string{"$._links.next"}, `{"_links": {"next": {"href": "/n"}}}`, []string{"next http://api.example/n"}},
		{"a path that leads nowhere", []string{"$.a.b[3].c"}, `{"a": {"b": ["/0"]}}`, nil},
		{"an index is not a name", []string{"$[0]"}, `{"0": "/a", "": "/b"}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, err := JSON([]byte(c.body), mustURL(t, "http://api.example/v1/items"), parsePaths(t, c.paths), nil)
			if got := list(found); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %q, %v\nwant %q", got, err, c.want)
			}
		})
	}
}

func TestCursorsAreNoLinks(t *testing.T) {
	body := `{"next": "eyJpZCI6N30=", "links": ["page2", "mailto:x", "", "ftp://h/", "http:", "7", "http://0x7f.1/", "/ok"]}`
	found, err := JSON([]byte(body), mustURL(t, "http://h/"), nil, nil)
	if err != nil || found.Refused != 8 || !slices.Equal(list(found), []string{"links http://h/ok"}) {
		t.Errorf("got %q, %d refused, %v", list(found), found.Refused, err)
	}
}

func TestJSONLimits(t *testing.T) {
	body := `{"links": ["/1", "/2", "/3"], "next": "/4"}`
	found, err := JSON([]byte(body), mustURL(t, "http://h/"), nil, &Options{MaxLinks: 2})
	if err != nil || len(found.Links) != 2 || !found.Cut {
		t.Errorf("%q, cut %v, %v", list(found), found.Cut, err)
	}
	found, err = JSON([]byte(`{"links": [`+strings.Repeat("0,", maxValues)+`"/late"]}`), mustURL(t, "http://h/"), nil, nil)
	if err != nil || len(found.Links) != 0 || !found.Cut {
		t.Errorf("of too many values: %q, cut %v, %v", list(found), found.Cut, err)
	}
	if _, err := JSON([]byte(body), mustURL(t, "http://h/"), nil, &Options{MaxBytes: 10}); onto.CodeOf(err) != onto.TooLarge {
		t.Errorf("a document over the limit: %v", err)
	}
}

func TestHostileJSON(t *testing.T) {
	size := 400 << 10
	if effort.Thorough(t) {
		size = 4 << 20
	}
	for name, c := range map[string]struct {
		body  string
		valid bool
	}{
		"nothing":             {"", false},
		"a part":              {`{"next": "/a"`, false},
		"two documents":       {`{} {"next": "/a"}`, false},
		"HTML":                {"<a href=x>", false},
		"deep":                {`{"next":` + strings.Repeat("[", size), false},
		"deep and closed":     {`{"links":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, true},
		"many empty lists":    {`{"links":[` + strings.Repeat("[],", size/3) + `[]]}`, true},
		"many members":        {`{` + strings.Repeat(`"next":{},`, size/10) + `"x":0}`, true},
		"a long string":       {`{"next":"/` + strings.Repeat("a", size) + `"}`, true},
		"a long number":       {`{"next":` + strings.Repeat("1", size) + `}`, true},
		"surrogates and NULs": {`{"next":"/\ud800\u0000"}`, true},
		"not UTF-8":           {"{\"next\":\"/\xff\"}", true},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := JSON([]byte(c.body), mustURL(t, "http://h/"), nil, nil)
			if c.valid != (err == nil) || !c.valid && onto.CodeOf(err) != onto.Invalid {
				t.Errorf("%d links, %v", len(found.Links), err)
			}
		})
	}
}

func TestRefusedPaths(t *testing.T) {
	for path, column := range map[string]int{
		"": 1, "next": 1, "$next": 2, "$.": 2, "$..next": 2, "$.a..b": 4, "$.a[": 4, "$.a[x]": 4, "$.a[-1]": 4, "$.a['b]": 4, "$.a['b'c']": 4, "$.a b": 2, "$.a[99999999999]": 4,
		"$.a[?(@.b)]": 4, "$.a[0,1]": 4, "$.@odata.nextLink": 2, "$" + strings.Repeat(".a", 33): 66,
	} {
		_, err := ParsePath(path)
		if onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), fmt.Sprintf("column %d:", column)) || onto.HintOf(err).String() == "" {
			t.Errorf("ParsePath(%q): %v, want an error at column %d", path, err, column)
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"next":"/a"}`, `{"links":[{"href":"b","rel":"x"}]}`, `{"links":{"next":{"url":"/c"}}}`, `[[["/d"]]]`, `{"a":{"b":["/e"]}}`, "\ufeff{}"} {
		f.Add([]byte(s), "$.a.b[*]")
		f.Add([]byte(s), "$")
	}
	document := &url.URL{Scheme: "https", Host: "h"}
	f.Fuzz(func(t *testing.T, body []byte, path string) {
		for _, paths := range []func() []Path{
			func() []Path { return nil },
			func() []Path {
				p, err := ParsePath(path)
				if err != nil {
					return nil
				}
				return []Path{p}
			},
		} {
			found, err := JSON(body, document, paths(), &Options{MaxLinks: 20})
			if err != nil && onto.CodeOf(err) != onto.Invalid {
				t.Fatal(err)
			}
			for _, l := range found.Links {
				checkNormal(t, l.URL, nil)
			}
		}
	})
}

func parsePaths(t *testing.T, texts []string) []Path {
	t.Helper()
	var paths []Path
	for _, s := range texts {
		p, err := ParsePath(s)
		if err != nil {
			t.Fatal(err)
		}
		if p.String() != s {
			t.Errorf("path %q is written as %q", s, p)
		}
		paths = append(paths, p)
	}
	return paths
}
