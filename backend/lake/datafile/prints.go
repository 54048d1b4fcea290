package datafile

import (
	"hash/maphash"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/protocol"
)

// printBytes is how much the prints of small files may take.
const printBytes = 64 << 20

// prints tells which identities small files may hold, by a hash of 8 bytes each. A
// writer of new identities then need not open files that do not have them.
type prints struct {
	seed   maphash.Seed
	byPath map[string][]uint64 // sorted
	order  []string            // oldest first
	bytes  int
}

func newPrints() prints { return prints{seed: maphash.MakeSeed(), byPath: map[string][]uint64{}} }

// of returns the hashes of identities, sorted.
func (p *prints) of(n int, id func(i int) onto.Identity) []uint64 {
	list := make([]uint64, n)
	for i := range list {
		list[i] = maphash.Comparable(p.seed, id(i))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// keep notes what a file holds.
func (p *prints) keep(path string, list []uint64) {
	if _, known := p.byPath[path]; known {
		return
	}
	p.byPath[path] = list
	p.order = append(p.order, path)
	for p.bytes += 8 * len(list); p.bytes > printBytes && len(p.order) > 1; {
		p.bytes -= 8 * len(p.byPath[p.order[0]])
		delete(p.byPath, p.order[0])
		p.order = p.order[1:]
	}
}

// may reports whether a file may hold one of some identities, if that is known.
func (p *prints) may(path string, wanted []uint64) (may, known bool) {
	list, known := p.byPath[path]
	for _, w := range wanted {
		if _, ok := slices.BinarySearch(list, w); ok {
			return true, known
		}
	}
	return !known, known
}

const (
	// hashedRows is the largest number of rows of a file whose entry lists hashes of
	// its identities. With these, a process that has just started need not read one
	// file for each commit before it can write a new identity.
	hashedRows = 16
	hashDigits = 16 // of each identity
)

// IdentityHash is the hash of an identity in the entries of files of its type.
func IdentityHash(id *onto.Identity) string {
	return protocol.HashOf([]byte(id.Key + "\x00" + id.Left + "\x00" + id.Right + "\x00" + id.Instance + "\x00"))[:hashDigits]
}

// IdentityHashes is what the entry of a file says about the identities in it, which
// are in order; "" if they are many.
func IdentityHashes(versions []onto.Version) string {
	if len(versions) > hashedRows {
		return ""
	}
	var all strings.Builder
	for i := range versions {
		if i == 0 || versions[i].Identity != versions[i-1].Identity {
			all.WriteString(IdentityHash(&versions[i].Identity))
		}
	}
	return all.String()
}

// mayHold reports whether a file may hold an identity with one of some hashes.
func mayHold(f *protocol.FileEntry, hashes map[string]bool) bool {
	for i := 0; i+hashDigits <= len(f.Identities); i += hashDigits {
		if hashes[f.Identities[i:i+hashDigits]] {
			return true
		}
	}
	return f.Identities == ""
}

// likely returns the files that may hold one of some identities.
func (r *Reader) likely(files []protocol.FileEntry, ids []onto.Identity) []protocol.FileEntry {
	wanted := r.prints.of(len(ids), func(i int) onto.Identity { return ids[i] })
	var hashes map[string]bool // made when it is needed
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(files, func(f protocol.FileEntry) bool {
		may, known := r.prints.may(f.Path, wanted)
		if known || f.Identities == "" {
			return !may
		}
		if hashes == nil {
			hashes = make(map[string]bool, len(ids))
			for i := range ids {
				hashes[IdentityHash(&ids[i])] = true
			}
		}
		return !mayHold(&f, hashes)
	})
}

// learn notes what a small file that was decoded holds.
func (r *Reader) learn(o *File) {
	o.mu.Lock()
	decoded := o.decoded
	o.mu.Unlock()
	if decoded != nil {
		r.note(o.entry.Path, decoded)
	}
}

// Note notes what a file holds that was just written, if it is small.
func (r *Reader) Note(f *protocol.FileEntry, versions []onto.Version) {
	if f.Bytes <= smallFile {
		r.note(f.Path, versions)
	}
}

func (r *Reader) note(path string, versions []onto.Version) {
	list := r.prints.of(len(versions), func(i int) onto.Identity { return versions[i].Identity })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.prints.keep(path, list)
}
