package source_test

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/ontologia/onto/backend/sqlite/source"
	"github.com/ontologia/onto/store"
)

// planned is which answers of a copy may differ from those of the file, since the plan says
// that it will have otherwise what they are about.
func planned(name string) string {
	switch name {
	case "original-v1", "original-v2", "adopted-v1", "adopted-v2", "keys": // keys of floats and bools are text
		return `Ratio|Flag|^types/\d+/schema/fields/(id|on)/type$`
	case "doubled": // of two versions in a commit, the copy has one
		return `^commits/\d+/operations$|^history/`
	case "times", "strange-times": // times are raised
		return `^times|^commits/\d+/(time|metadata)|^failed$`
	case "stamps", "format2-theirs": // stamps are set right
		return `^(history|stored|present)/.*(Person|Knows|Draft)`
	}
	return "^$"
}

// otherwise is the files that the last program could not answer about, or that a copy
// answers about with other ids or names, or without many rows: see TestLogs for these.
func otherwise() map[string]bool {
	return map[string]bool{
		"blobs": true, "disobedient": true, "gaps": true, "metadata": true, "names": true, "odd-keys": true, "odd-stamps": true, "orphans": true, "uncommitted": true,
		"untyped-rows": true, "work-items": true, "bare": true, "computed": true,
	}
}

// A copy answers what was answered about the file in place, but for what its plan names.
func TestCopiesAnswerAlike(t *testing.T) {
	compared := 0
	for _, name := range fixtures(t) {
		if otherwise()[name] {
			continue
		}
		compared++
		t.Run(name, func(t *testing.T) {
			f := opened(t, load(t, name, rollback), source.Options{Rejects: filepath.Join(t.TempDir(), "rejects")})
			s, err := store.Open(t.Context(), copied(t, f))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			wantRecorded(t, s, name, regexp.MustCompile(planned(name)).MatchString)
		})
	}
	if compared < 20 {
		t.Errorf("only %d copies were compared", compared)
	}
}
