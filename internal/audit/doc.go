// Package audit is what every log must keep to, whatever stores it: the rules, and
// the codes of all that a check can find. A backend reads its log and shows it to a
// [Log], which reports what breaks a rule. What concerns the storage alone (pages,
// objects, indexes) is examined by the backend, which reports it with codes of this
// package.
package audit
