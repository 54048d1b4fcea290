// Package codec defines the one textual form of JSON values and times that is
// stored and compared.
//
// Canonical JSON has sorted keys, no spaces, the shortest form of each number
// and escapes only where JSON demands them. Input that engines would read
// differently is refused: duplicate keys, U+0000, lone surrogates, integers
// outside int64, numbers beyond float64, and nesting deeper than MaxDepth.
package codec
