package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/effort"
)

// leftBehind makes a store and returns its file and its WAL as a crash leaves
// them, with the commits that were acknowledged in the WAL alone.
func leftBehind(t *testing.T, commits int) (file, wal []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "crashed.db")
	makeThings(t, path)
	b := open(t, path, nil)
	for i := range commits {
		if _, err := b.Append(t.Context(), thingDraft(fmt.Sprint("k", i), i)); err != nil {
			t.Fatal(err)
		}
	}
	return read(t, path), read(t, path+"-wal")
}

// place puts a file and its WAL somewhere else.
func place(t *testing.T, file, wal []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy.db")
	write(t, path, file)
	write(t, path+"-wal", wal)
	return path
}

// A flipped bit in a WAL that was left behind does not make acknowledged commits vanish
// silently: they are there, or opening the store for writing is refused, reads work,
// and an examination reports it. Only the last commit cannot be distinguished from an
// unfinished one.
func TestFlippedBitInTheWAL(t *testing.T) {
	t.Parallel()
	const commits = 40
	file, wal := leftBehind(t, commits)
	random := effort.Rand(t)
	n, whole, last, refused := 0, 0, 0, 0
	for i := range 300 {
		bit := random.IntN(len(wal) * 8)
		if i < 32 {
			bit = i*8 + i%8 // of the header
		}
		if !effort.Includes(t, i) {
			continue
		}
		n++
		damaged := bytes.Clone(wal)
		damaged[bit/8] ^= 1 << (bit % 8)
		path := place(t, file, damaged)
		b, err := sqlite.Open(t.Context(), path, nil)
		switch {
		case errors.Is(err, onto.Corrupt) && strings.Contains(err.Error(), "frame ") && onto.HintOf(err).Text != "":
			refused++
			wantCutOff(t, path)
		case err != nil && onto.CodeOf(err) != "":
			refused++ // SQLite refuses a header that it does not understand
		case err != nil:
			t.Errorf("bit %d: %v", bit, err)
		default:
			head, err := b.Resolve(t.Context(), onto.Point{})
			switch {
			case err != nil:
				t.Errorf("bit %d: %v", bit, err)
			case head.ID == commits:
				whole++
			case head.ID == commits-1:
				last++
			default:
				t.Errorf("bit %d of byte %d: the head is commit %d of %d, and nothing is said", bit%8, bit/8, head.ID, commits)
			}
			b.Close()
		}
	}
	t.Logf("%d flipped bits: %d change nothing, %d are refused, %d cost the last commit", n, whole, refused, last)
}

// wantCutOff checks that a store whose WAL is cut off can be read and stays as it is,
// that an examination reports it, and that the loss can be accepted.
func wantCutOff(t *testing.T, path string) {
	t.Helper()
	wal := read(t, path+"-wal")
	func() {
		b, err := sqlite.Open(t.Context(), path, &sqlite.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if _, err := b.Resolve(t.Context(), onto.Point{}); err != nil {
			t.Fatal(err)
		}
		if text, remedy := b.Warning(); text == "" || remedy.Text == "" {
			t.Errorf("got the warning %q with the remedy %q, want both", text, remedy)
		}
		if got := codesOf(examined(t, b, true)); !strings.Contains(strings.Join(got, " "), "wal_cut_off") {
			t.Errorf("got findings %v, want wal_cut_off", got)
		}
	}()
	if !bytes.Equal(read(t, path+"-wal"), wal) {
		t.Fatal("reading has changed the WAL")
	}
	b, err := sqlite.Open(t.Context(), path, &sqlite.Options{AcceptLoss: true})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(read(t, b.KeptWAL()), wal) {
		t.Error("the WAL that was kept is another")
	}
	head, err := b.Resolve(t.Context(), onto.Point{})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := b.Append(t.Context(), thingDraft("after", 1)); err != nil || r.ID != head.ID+1 {
		t.Errorf("after the loss was accepted: got commit %d, error %v; want %d", r.ID, err, head.ID+1)
	}
	backendtest.Check(t, b)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = open(t, path, nil)
	wantFields(t, b, onto.EntityID("Thing", "after"), backend.Head, `{"id":"after","n":1}`)
}

// What a crash leaves of an unfinished commit is no finding: frames in any order, at
// the end of what was synced.
func TestUnfinishedCommitInTheWAL(t *testing.T) {
	file, wal := leftBehind(t, 10)
	const header, frame = 32, 24 + 4096
	ends := 0 // of the last commit but one
	for at := header; at+frame < len(wal); at += frame {
		if !bytes.Equal(wal[at+4:at+8], make([]byte, 4)) && at+frame < len(wal) {
			ends = at + frame
		}
	}
	for missing := ends; missing < len(wal); missing += frame {
		torn := bytes.Clone(wal)
		clear(torn[missing : missing+frame])
		b, err := sqlite.Open(t.Context(), place(t, file, torn), nil)
		if err != nil {
			t.Fatalf("without the frame at %d: %v", missing, err)
		}
		if head, err := b.Resolve(t.Context(), onto.Point{}); err != nil || head.ID != 9 {
			t.Errorf("without the frame at %d: got head %d, error %v; want 9", missing, head.ID, err)
		}
		b.Close()
	}
}

// A WAL that was reset has old frames behind the valid ones.
func TestFramesOfBeforeAReset(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reset.db")
	makeThings(t, path)
	b := open(t, path, nil)
	for i := range 30 {
		if i == 25 {
			if err := b.Exec(`PRAGMA wal_checkpoint(RESTART)`); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Append(t.Context(), thingDraft(fmt.Sprint("k", i), i)); err != nil {
			t.Fatal(err)
		}
	}
	crashed := open(t, place(t, read(t, path), read(t, path+"-wal")), nil)
	if head, err := crashed.Resolve(t.Context(), onto.Point{}); err != nil || head.ID != 30 {
		t.Errorf("got head %d, error %v; want 30", head.ID, err)
	}
}
