// Package words defines what search finds: how text is split into words.
package words

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/ontologia/onto/backend"
)

// Split returns the words of a text, in order: runs of letters and digits,
// lower-cased, without marks. A mark does not end a word.
func Split(text string) []string {
	var list []string
	for w := range all(text) {
		list = append(list, w.Text)
	}
	return list
}

// Query returns the words of what a user searches for, each once. A star right
// after a word asks for all words that begin with it. Nothing is a syntax error.
func Query(text string) []backend.Word {
	var list []backend.Word
	seen := map[backend.Word]bool{}
	for w := range all(text) {
		if !seen[w] {
			seen[w] = true
			list = append(list, w)
		}
	}
	return list
}

// Match reports whether each word of a query is among the words of the texts.
func Match(query []backend.Word, texts ...string) bool {
	whole, prefixes := map[string]bool{}, map[string]bool{} // what is still to be found
	for _, w := range query {
		if w.Prefix {
			prefixes[w.Text] = true
		} else {
			whole[w.Text] = true
		}
	}
	for _, text := range texts {
		for w := range all(text) {
			if len(whole)+len(prefixes) == 0 {
				return true
			}
			delete(whole, w.Text)
			for p := range prefixes {
				if strings.HasPrefix(w.Text, p) {
					delete(prefixes, p)
				}
			}
		}
	}
	return len(whole)+len(prefixes) == 0
}

// all yields the words of a text, and whether a star follows.
func all(text string) iter.Seq[backend.Word] {
	return func(yield func(backend.Word) bool) {
		var word []byte
		for _, r := range decompose(text) {
			switch {
			case unicode.IsLetter(r) || unicode.IsDigit(r):
				word = utf8.AppendRune(word, unicode.ToLower(r))
				continue
			case unicode.IsMark(r):
				continue
			}
			if len(word) > 0 && !yield(backend.Word{Text: string(word), Prefix: r == '*'}) {
				return
			}
			word = word[:0]
		}
		if len(word) > 0 {
			yield(backend.Word{Text: string(word)})
		}
	}
}

// decompose takes marks off their letters. Invalid UTF-8 separates words, as U+FFFD
// does.
func decompose(text string) string {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return norm.NFD.String(strings.ToValidUTF8(text, "\uFFFD"))
		}
	}
	return text
}
