// Package events has the verbs of the bus: to emit, look at, repeat and remove events,
// and to handle them with a command.
package events
