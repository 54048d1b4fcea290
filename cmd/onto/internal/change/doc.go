// Package change has the verbs that make one commit: put, link, delete, fact and
// revert.
package change
