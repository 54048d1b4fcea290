// Package evolve has the verbs that register, compare, change and end types.
package evolve
