// Package upkeep examines a store.
//
// [Examine] runs the checks of a backend and says of each finding what it means and
// what to do. Every finding has a code that stays the same from version to version;
// [Codes] lists them, and docs/findings.md is that list for people.
package upkeep
