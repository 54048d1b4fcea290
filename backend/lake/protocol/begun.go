package protocol

import (
	"regexp"
	"strings"
)

// Leftover reports whether an object may come from a lake whose creation was not
// finished. A lake can still be made in such a place.
func Leftover(key string) bool {
	return key == EngineKey || strings.HasPrefix(key, "meta/catalog/") || strings.HasPrefix(key, "meta/probe-")
}

// OfCommit reports whether an object belongs to a commit of a lake.
func OfCommit(key string) bool {
	return regexp.MustCompile("^commits/[0-9]+-[A-Z0-9]+/").MatchString(key)
}
