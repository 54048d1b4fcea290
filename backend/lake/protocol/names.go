package protocol

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/segment"
)

// role is what an object of an attempt is for.
type role uint8

const (
	noRole role = iota
	manifestRole
	roundFileRole // versions of one type, of a round
	snapshotRole  // versions of one type, compacted
	catalogRole
	checkpointRole
)

// name is what the key of an object written by an attempt says.
type name struct {
	role
	onto.TypeName        // of files
	first         int64  // the first commit of a snapshot
	number        int64  // the last commit; the sequence of a catalog
	part          int    // of files of one type, from 0 on
	attempt       string // that wrote it
}

// parseKey reads the key of an object that an attempt has written. It reports false for
// any key that no attempt writes.
func parseKey(key string) (name, bool) {
	n, ok := splitKey(key)
	return n, ok && n.String() == key && inRange(n.number, n.first)
}

// String is the key.
func (n name) String() string {
	switch n.role {
	case manifestRole:
		return manifestPath(n.number, n.attempt)
	case roundFileRole:
		f := DataFile{Kind: n.Kind, Type: n.Name, Part: n.part}
		return f.Path(n.number, n.attempt)
	case snapshotRole:
		return snapshotPath(n.TypeName, n.first, n.number, n.attempt, n.part)
	case catalogRole:
		return catalogPath(n.number, n.attempt)
	case checkpointRole:
		return checkpointPath(n.number, n.attempt)
	}
	return ""
}

// splitKey takes a key apart. The parts need not add up to the key again.
func splitKey(key string) (name, bool) {
	part := strings.Split(key, "/")
	switch {
	case len(part) == 3 && part[0] == "commits" && part[2] == "manifest.json":
		return numbered(manifestRole, part[1])
	case len(part) >= 4 && part[0] == "commits":
		return roundFileName(part[1:])
	case len(part) == 3 && part[0] == "snapshots":
		return snapshotName(part[1], part[2])
	case len(part) == 3 && part[0] == "meta" && part[1] == "catalog":
		return numbered(catalogRole, strings.TrimSuffix(part[2], ".json"))
	case len(part) == 3 && part[0] == "meta" && part[1] == "checkpoints":
		return numbered(checkpointRole, strings.TrimSuffix(part[2], ".json"))
	}
	return name{}, false
}

// numbered reads a number and an attempt.
func numbered(r role, text string) (name, bool) {
	number, attempt, _ := strings.Cut(text, "-")
	n, err := strconv.ParseInt(number, 10, 64)
	return name{role: r, number: n, attempt: attempt}, err == nil && isWord(attempt)
}

// roundFileName reads what follows commits/.
func roundFileName(part []string) (name, bool) {
	n, ok := numbered(roundFileRole, part[0])
	if len(part) == 4 {
		var err error
		n.part, err = strconv.Atoi(part[1])
		n.part--
		part = append(part[:1:1], part[2:]...)
		ok = ok && err == nil && n.part > 0
	}
	if len(part) != 3 || !ok {
		return n, false
	}
	ok = n.setType(part[1], strings.TrimSuffix(part[2], ".parquet"))
	return n, ok
}

// snapshotName reads what follows snapshots/. The name of a type may have dashes.
func snapshotName(folder, file string) (name, bool) {
	part := strings.Split(strings.TrimSuffix(file, ".parquet"), "-")
	k := len(part)
	if k < 4 {
		return name{}, false
	}
	n, ok := numbered(snapshotRole, part[k-2]+"-"+strings.Split(part[k-1], ".")[0])
	var errFirst, errPart error
	n.first, errFirst = strconv.ParseInt(part[k-3], 10, 64)
	if _, count, several := strings.Cut(part[k-1], "."); several {
		n.part, errPart = strconv.Atoi(count)
		n.part--
	}
	ok = ok && errFirst == nil && errPart == nil && n.part >= 0 && isRange(n.first, n.number)
	return n, n.setType(folder, strings.Join(part[:k-3], "-")) && ok
}

// setType sets the type that a folder and an escaped name tell.
func (n *name) setType(folder, escaped string) bool {
	kinds := onto.Kinds()
	i := slices.IndexFunc(kinds, func(k onto.Kind) bool { return folder == FolderOf(k) })
	if i < 0 {
		return false
	}
	var err error
	n.Kind = kinds[i]
	n.Name, err = segment.Unescape(escaped)
	return err == nil && n.Name != ""
}

// isWord reports whether a text is letters and digits.
func isWord(text string) bool {
	for _, c := range []byte(text) {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return text != ""
}

// attemptDigits is how many characters the name of an attempt has.
const attemptDigits = 16

// isAttempt reports whether a text is as newAttempt makes it.
func isAttempt(text string) bool {
	return len(text) == attemptDigits && isWord(text) && strings.ToUpper(text) == text
}

// check tells what is wrong with the entry of a file; nil for nothing. The numbers
// decide how much is read. A row takes more than a bit, since a row group has some
// hundred bytes besides its rows.
func (f *FileEntry) check() error {
	n, ok := parseKey(f.Path)
	switch {
	case !isKind(f.Kind) || f.Type == "":
		return fmt.Errorf("%q is a file of the %s %q", f.Path, f.Kind, f.Type)
	case !ok || n.role != roundFileRole && n.role != snapshotRole || n.TypeName != f.TypeName():
		return fmt.Errorf("%q is not where a file of the %s %s can be", f.Path, f.Kind, f.Type)
	case !isRange(f.First, f.Last) || n.number != f.Last || n.role == snapshotRole && n.first != f.First:
		return fmt.Errorf("%s does not go with commits %d to %d", f.Path, f.First, f.Last)
	case !inRange(f.Rows, f.Bytes, int64(f.Version), int64(f.Level)) || !isHex(f.SHA256, 64):
		return fmt.Errorf("%s: %d rows, %d bytes, version %d, level %d or the hash is out of range", f.Path, f.Rows, f.Bytes, f.Version, f.Level)
	case f.Rows > rowsPerByte*f.Bytes:
		return fmt.Errorf("%s: %d bytes cannot hold %d rows", f.Path, f.Bytes, f.Rows)
	}
	return nil
}

// rowsPerByte is more rows than a byte of a file can stand for.
const rowsPerByte = 64
