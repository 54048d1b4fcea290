// Package ask has the verbs that only read: questions, history, types, and what a
// store holds.
package ask
