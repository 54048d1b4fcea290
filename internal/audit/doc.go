// Package audit is the rules of every log, whatever stores it, and the codes of all
// findings of checks. A backend reads its log and passes it to a [Log], which reports
// what breaks a rule. What concerns the storage alone (pages, objects, indexes) is
// examined by the backend, which reports it with codes of this package.
package audit
