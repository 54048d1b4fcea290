package transfer

import (
	"strings"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/terminal"
)

// noteWords is how a note is told: its label, and what is counted.
type noteWords struct{ label, one, many string }

// wordsOfNotes has the words of every code.
func wordsOfNotes() map[backend.NoteCode]noteWords {
	return map[backend.NoteCode]noteWords{
		backend.EventsStay:        {"left behind", "event in namespace", "events in namespace"},
		backend.ClaimsStay:        {"left behind", "claim of", "claims of"},
		backend.WorkStays:         {"left behind", "work item, which is", "work items, which are"},
		backend.RowsDropped:       {"left behind", "row that another one of its commit hides, of", "rows that others of their commits hide, of"},
		backend.RowsRejected:      {"rejected", "row that cannot be stored here, of", "rows that cannot be stored here, of"},
		backend.CommitsRenumbered: {"changed", "commit has another id", "commits have other ids"},
		backend.TimesRaised:       {"changed", "commit has a later time, since its own is before that of the commit before", "commits have later times, since theirs are before those of the commits before"},
		backend.CommitsAdded:      {"changed", "commit is made for rows that have none", "commits are made for rows that have none"},
		backend.TextsRewritten:    {"changed", "commit has an invalid text or a negative cause, which is repaired", "commits have invalid texts or negative causes, which are repaired"},
		backend.RowsRewritten:     {"changed", "row is written otherwise and means the same, of", "rows are written otherwise and mean the same, of"},
		backend.KeysRewritten:     {"changed", "key of a float or bool becomes text, of", "keys of floats or bools become text, of"},
		backend.NamesChanged:      {"changed", "name, as --rename says:", "names, as --rename says:"},
		backend.UpgraderLacking:   {"lacking", "upgrader, which --upgraders can add:", "upgraders, which --upgraders can add:"},
	}
}

func noteLabel(n document.CopyNote) string {
	if w, ok := wordsOfNotes()[backend.NoteCode(n.Code)]; ok {
		return w.label
	}
	return n.Code
}

func noteText(n document.CopyNote) string {
	w := wordsOfNotes()[backend.NoteCode(n.Code)]
	return strings.TrimSpace(terminal.Count(n.Count, w.one, w.many) + " " + n.Of)
}
