package place

import "strings"

// NameIn completes a hint that ends in a command, or has one in parentheses or
// before another way, with the flag that names the store, so that it can be
// pasted. What shows usage needs no store.
func (l Location) NameIn(hint string) string {
	before, command, ok := strings.Cut(hint, "onto ")
	inside := strings.HasSuffix(before, "(")
	if !ok || l.flag == "" || before != "" && !inside && !strings.HasSuffix(before, ": ") {
		return hint
	}
	after := ""
	end := strings.Index(command, ", or ")
	if inside {
		end = strings.IndexByte(command, ')')
	}
	if end >= 0 {
		command, after = command[:end], command[end:]
	}
	if strings.HasSuffix(command, " --help") || strings.HasSuffix(command, " [flags]") {
		return hint
	}
	command = strings.TrimSuffix(command, " --db "+l.Path) // the path may need quotes
	if strings.Contains(command, " --db ") || strings.Contains(command, " --storage-uri ") {
		return hint
	}
	return before + "onto " + command + " " + l.flag + after
}

// ShellWord quotes a text if a shell needs that.
func ShellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._:-", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// ShellWords is arguments as a line for a shell.
func ShellWords(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = ShellWord(a)
	}
	return strings.Join(words, " ")
}
