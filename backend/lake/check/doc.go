// Package check examines a lake: whether its objects keep the rules of a log, and what
// is unusual about its circumstances. It writes nothing.
//
// Its tests are those of package lake, which damage a lake and look at the findings.
package check
