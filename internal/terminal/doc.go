// Package terminal prints answers for people and programs: documents, lists as tables,
// JSON or CSV, messages and progress. Terminals get no control characters from data;
// only terminals get colour, shortened cells and progress.
package terminal
