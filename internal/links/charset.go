package links

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// legacy is the charset of a document that is not in Unicode; nil if it is.
type legacy struct{ encoding.Encoding }

// decode returns a document in UTF-8, without a byte order mark.
func decode(body []byte, contentType string) ([]byte, *legacy) {
	e, name, certain := charset.DetermineEncoding(body, contentType)
	if name == "utf-8" || !certain && utf8.Valid(body) {
		return bytes.TrimPrefix(body, []byte("\ufeff")), nil
	}
	text, err := e.NewDecoder().Bytes(body)
	if err != nil {
		return body, nil // tags are ASCII in every charset of HTML but UTF-16
	}
	if strings.HasPrefix(name, "utf-16") {
		return bytes.TrimPrefix(text, []byte("\ufeff")), nil
	}
	return text, &legacy{e}
}

// reference escapes what a reference has in its query beyond ASCII, in the charset of
// the document. What the charset lacks becomes a character reference, as in browsers.
func (l *legacy) reference(href string) string {
	path, query, ok := strings.Cut(href, "?")
	if l == nil || !ok || isASCII(query) {
		return href
	}
	var b strings.Builder
	b.WriteString(path)
	b.WriteByte('?')
	encoder := l.NewEncoder()
	for _, r := range query {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
			continue
		}
		text, err := encoder.String(string(r))
		if err != nil {
			text = "&#" + strconv.Itoa(int(r)) + ";"
		}
		b.WriteString(escape(text, ""))
	}
	return b.String()
}
