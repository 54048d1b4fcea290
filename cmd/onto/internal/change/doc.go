// Package change has the verbs that make one commit: put, link, delete and revert.
package change
