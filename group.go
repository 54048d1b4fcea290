package onto

import "encoding/json"

// Group is one row of an aggregate: what its versions have in common, and the
// aggregates over them. Values are canonical JSON, nil for null.
type Group struct {
	By     []json.RawMessage // in the order of what was grouped by
	Values []json.RawMessage // in the order of the aggregates
}
