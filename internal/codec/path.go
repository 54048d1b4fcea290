package codec

import "strings"

// PathError is what is wrong somewhere inside a value.
type PathError struct {
	Path string // steps from the value on, such as .lines[3].qty
	Err  error
}

// Error names the path, if there is one, and what is wrong there.
func (e *PathError) Error() string {
	if e.Path == "" {
		return e.Err.Error()
	}
	return strings.TrimPrefix(e.Path, ".") + ": " + e.Err.Error()
}

// Unwrap returns what is wrong.
func (e *PathError) Unwrap() error { return e.Err }

// At puts a step in front of the path of an error.
func At(step string, err error) error {
	if e, ok := err.(*PathError); ok {
		return &PathError{step + e.Path, e.Err}
	}
	return &PathError{step, err}
}

// WordPath is the JSON path of names that are plain words, without the $ and the dot in
// front: it can stand between quotes in SQL. It reports false for other names.
func WordPath(names []string) (string, bool) {
	for _, name := range names {
		if !isWord(name) {
			return "", false
		}
	}
	return strings.Join(names, "."), true
}

// isWord reports whether a name is a plain word, which needs no quotes in a path.
func isWord(name string) bool {
	for i := range len(name) {
		c := name[i]
		if letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'; !letter && (i == 0 || c < '0' || '9' < c) {
			return false
		}
	}
	return name != ""
}

// ParsePath returns the names of a path as AppendStep writes it, without the dot in front.
// It reports false for any other text.
func ParsePath(path string) ([]string, bool) {
	var names []string
	for rest := "." + path; rest != ""; {
		if rest[0] != '.' {
			return nil, false
		}
		rest = rest[1:]
		end := strings.IndexByte(rest, '.')
		if strings.HasPrefix(rest, `"`) {
			end = endOfName(rest)
		} else if end < 0 {
			end = len(rest)
		}
		name := rest[:end]
		if !isWord(name) {
			canonical, err := AppendCanonical(nil, []byte(name))
			if err != nil || KindOf(canonical) != String || string(canonical) != name {
				return nil, false
			}
			if name = unquote(canonical); isWord(name) {
				return nil, false
			}
		}
		names, rest = append(names, name), rest[end:]
	}
	return names, true
}

// endOfName is where a quoted name at the start of a path ends.
func endOfName(path string) int {
	for i := 1; i < len(path); i++ {
		switch path[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(path)
}
