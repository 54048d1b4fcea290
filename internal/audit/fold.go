package audit

import (
	"encoding/json"
	"strings"

	"github.com/ontologia/onto"
)

// FoldRecords is the type in which a store keeps what it knows about folds. The key of a
// record is the type of the facts and the name of the fold.
const FoldRecords = "onto_folds"

// Folded is the finding about the fold of a record that is behind as of a head.
func Folded(v *onto.Version, head int64) (onto.Finding, bool) {
	facts, name, record := strings.Cut(v.Key, "/")
	var kept struct {
		Behind int64 `json:"behind"`
	}
	if !record || json.Unmarshal(v.Fields, &kept) != nil || kept.Behind == 0 {
		return onto.Finding{}, false
	}
	return FoldBehind.Finding("the fold %s of %s has all facts up to commit %d, and the head is %d", name, facts, kept.Behind, head), true
}
