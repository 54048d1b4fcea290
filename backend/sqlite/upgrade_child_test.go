package sqlite_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/iofault"
)

// A program that has the file open, and one that is in the middle of a read, go on while another
// process upgrades it.
func TestUpgradeBesideReaders(t *testing.T) {
	source := lived(t)
	path := makeLived(t, source)
	makeOlder(t, path)
	cmd := child.Command("read", path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	round := func() { // one that begins from now on
		t.Helper()
		for range 2 {
			if !lines.Scan() {
				t.Fatalf("the reader has ended: %v", lines.Err())
			}
		}
	}
	round()
	b := open(t, path, nil)
	round()
	if _, err := b.Append(t.Context(), &backend.Draft{Writes: []backend.Write{asMemo(putNote("new", ""))}}); err != nil {
		t.Fatal(err)
	}
	round()
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the reader: %v", err)
	}
}

// readBesideUpgrade reads a store over and over until its input ends, as of one commit, and fails
// if an answer is not the first one. All the time another connection is in one read, as that of
// an older program may be.
func readBesideUpgrade(job []string) error {
	ctx := context.Background()
	b, err := sqlite.Open(ctx, job[0], &sqlite.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer b.Close()
	head, err := b.Resolve(ctx, onto.Point{})
	if err != nil {
		return err
	}
	answer := func() (string, error) {
		var ids []onto.Identity
		for v, err := range b.Scan(ctx, &backend.Query{Kind: onto.KindEntity, Type: "Memo", At: head.ID}) {
			if err != nil {
				return "", err
			}
			ids = append(ids, v.Identity)
		}
		firsts, err := b.Firsts(ctx, &backend.FirstsQuery{Kind: onto.KindEntity, Type: "Memo", IDs: ids, At: head.ID})
		return fmt.Sprint(ids, firsts), err
	}
	db, err := sql.Open("sqlite3", job[0])
	if err != nil {
		return err
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	first := ""
	for {
		got, err := answer()
		if err != nil {
			return err
		}
		var format string
		if err := tx.QueryRow(`SELECT format || ' ' || (SELECT group_concat(json(fields)) FROM entity_current) FROM onto_meta`).Scan(&format); err != nil {
			return err
		}
		got += format
		if first == "" {
			first = got
		}
		if got != first {
			return fmt.Errorf("got %s, and at first %s", got, first)
		}
		select {
		case <-ended:
			return nil
		default:
			fmt.Println("read")
		}
	}
}

// From each write and sync of the upgrade on, all fail, or the process is killed. Then the file
// is of format 7 as it was, or of format 8, and the next opening makes it whole.
func TestFailingUpgrade(t *testing.T) {
	iofault.Need(t)
	t.Parallel()
	source := lived(t)
	seed := makeLived(t, source)
	makeOlder(t, seed)
	for _, c := range []struct {
		file, calls string
		fault       iofault.Fault
	}{
		{"store.db-wal", "sync", iofault.EIOFrom}, {"store.db-wal", "sync,write", iofault.Kill},
		{"store.db-wal", "write", iofault.ENOSPCFrom}, {"store.db-wal", "sync,write", iofault.EIOFrom}, {"", "sync,write", iofault.Kill},
	} {
		t.Run(fmt.Sprintf("%s, %s, %v", c.file, c.calls, c.fault), func(t *testing.T) {
			t.Parallel()
			seen := map[string]int{}
			for after := 0; seen["ok"] == 0; after++ {
				path := copyStore(t, seed)
				code, _ := faults{c.file, c.calls, after, c.fault}.run(t, filepath.Dir(path), "open", path)
				seen[code]++
				format := formatOf(t, path)
				switch refused := code != "ok" && code != "killed" && code != string(onto.OutcomeUnknown); {
				case refused && format != "7", code == "ok" && format != "8", format != "7" && format != "8":
					t.Errorf("after %d calls: %s, and the format is %s", after, code, format)
				}
				if format == "7" {
					wantLives(t, opened(t, path, &sqlite.Options{ReadOnly: true}), source)
				}
				wantLives(t, open(t, path, nil), source)
				if got := formatOf(t, path); got != "8" {
					t.Errorf("after %d calls and another opening: the format is %s", after, got)
				}
			}
			t.Logf("outcomes: %v", seen)
			if c.fault == iofault.ENOSPCFrom && seen[string(onto.Full)] == 0 || c.fault == iofault.Kill && seen["killed"] == 0 {
				t.Errorf("nothing has failed")
			}
		})
	}
}
