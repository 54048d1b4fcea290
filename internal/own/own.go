// Package own is the door to the types of which the names begin with onto_: packages of this
// module keep some in a store, and programs do not write them.
package own

import "context"

type allowed struct{}

// Allow returns a context with which types of such names are registered and their things
// written, except for those that the store itself keeps about folds.
func Allow(ctx context.Context) context.Context { return context.WithValue(ctx, allowed{}, true) }

// Allowed reports whether that is so with a context.
func Allowed(ctx context.Context) bool { return ctx.Value(allowed{}) != nil }
