// Package session is one run of the command onto: its streams and global flags, the
// stores it opens, what verbs have in common, and how it ends.
package session
