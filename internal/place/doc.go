// Package place says where a store is and opens its backend: settings from the command
// line, the environment and configuration files, the location they lead to, and the
// backend at that location. Besides the verbs that look after one kind of storage, it
// is the only package that knows every backend.
package place
