// Package deploytest holds tests of programs of several versions that share a store
// while its types change: deploys, rollbacks, and changes that old programs cannot
// follow, with processes of their own, on SQLite and on a lake. It has no other code.
package deploytest
