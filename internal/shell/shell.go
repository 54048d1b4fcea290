// Package shell writes arguments as a shell reads them.
package shell

import "strings"

// Word is an argument, quoted if a shell needs that.
func Word(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._:@=-", r)
	}
	if s != "" && s[0] != '=' && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Line is arguments as a line.
func Line(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = Word(a)
	}
	return strings.Join(words, " ")
}
