package probe

import "regexp"

// names are those of the objects that a probe makes, after the prefix that it was
// given.
var names = regexp.MustCompile(`^probe-[A-Z2-7]{26}/(read-[0-9]+|tag|twice|swap|stale|present|missing|parts|get|deleted|list/[0-9]+|race(-[0-9]+)?)$`)

// Made reports whether the rest of a key, after the prefix of a probe and a slash, is
// that of an object that a probe makes.
func Made(rest string) bool { return names.MatchString(rest) }
