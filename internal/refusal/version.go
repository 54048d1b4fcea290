package refusal

import "github.com/ontologia/onto"

// Unreadable is the error for a version with fields that cannot be read.
func Unreadable(v *onto.Version, reason error) error {
	u := &onto.UnreadableVersion{Version: *v, Text: string(v.Fields), Reason: reason}
	u.Fields = nil
	return onto.Errorf(onto.Unreadable, "%w", u).
		WithHint("see its text with --as-stored; a new put replaces it, and a delete removes it")
}
