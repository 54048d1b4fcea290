// Package transfer has the verbs that read and write records in files.
package transfer
