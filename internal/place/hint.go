package place

import (
	"slices"
	"strings"

	"github.com/ontologia/onto"
)

// NameIn completes the command of a hint with the flag that names the store, so that it
// can be run as it is. A command that names a store already, or shows usage, needs
// none; copy names its stores by arguments.
func (l Location) NameIn(h onto.Hint) onto.Hint {
	flags := len(h.Command)
	if i := slices.Index(h.Command, "--"); i >= 0 {
		flags = i
	}
	complete := func(word string) bool {
		name, _, _ := strings.Cut(word, "=")
		return name == "--db" || name == "--storage-uri" || name == "--help"
	}
	if flags == 0 || l.flag.name == "" || h.Command[0] == "copy" || slices.ContainsFunc(h.Command[:flags], complete) {
		return h
	}
	h.Command = slices.Insert(slices.Clone(h.Command), flags, l.flag.name, l.flag.value)
	return h
}
