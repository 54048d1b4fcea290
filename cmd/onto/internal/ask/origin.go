package ask

import (
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/terminal"
)

// when is the cells for the columns commit and time.
func when(c onto.Commit) []string {
	return []string{strconv.FormatInt(c.ID, 10), terminal.Time(c.Time)}
}

// who is the cells for the columns actor and comment.
func who(c onto.Commit) []string { return []string{c.Actor.String(), c.Comment} }
