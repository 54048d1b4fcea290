package file_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/file"
	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/effort"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.Job{"write": func(args []string) error { return writeForever(args[0]) }})
	os.Exit(effort.Main(m))
}

// body is an object whose contents tell its number and whether it is whole.
func body(n int) []byte {
	text := fmt.Sprintf("%d %s", n, strings.Repeat("x", n*37%20000))
	return fmt.Appendf(nil, "%s %x", text, sha256.Sum256([]byte(text)))
}

// bodyOf returns which object it is. It fails if the object is not whole.
func bodyOf(data []byte) (int, error) {
	number, _, _ := strings.Cut(string(data), " ")
	n, err := strconv.Atoi(number)
	if err != nil || string(body(n)) != string(data) {
		return 0, fmt.Errorf("the object is not whole: %d bytes, number %q", len(data), number)
	}
	return n, nil
}

// writeForever creates an object and then swaps the head, and prints a line for each
// acknowledgement.
func writeForever(dir string) error {
	ctx := context.Background()
	b, err := file.Open(dir, nil)
	if err != nil {
		return err
	}
	defer b.Close()
	for {
		o, err := b.Get(ctx, "head", bucket.Range{}, "")
		if err != nil {
			return err
		}
		n, err := bodyOf(o.Data)
		if err != nil {
			return err
		}
		n++
		if err := writeNext(ctx, b, n, o.Tag); err != nil {
			return err
		}
	}
}

func writeNext(ctx context.Context, b *file.Bucket, n int, old bucket.Tag) error {
	if _, err := b.Create(ctx, fmt.Sprintf("commits/%d/%d", n, os.Getpid()), body(n)); err != nil {
		return err
	}
	fmt.Printf("create commits/%d/%d %d\n", n, os.Getpid(), n)
	if _, err := b.Swap(ctx, "head", body(n), old); err != nil {
		return err
	}
	_, err := fmt.Printf("swap head %d\n", n)
	return err
}

// A writer is killed at random moments. What it acknowledged is there and whole,
// nothing is half visible, and the next writer continues.
func TestKilledWritersLoseNothing(t *testing.T) {
	kills, random := effort.Count(t, 200), effort.Rand(t)
	dir := t.TempDir()
	b := openBucket(t, dir, nil)
	mustCreate(t, b, "head", string(body(0)))
	created, head, left := map[string]int{}, 0, 0
	for kill := range kills {
		last := killAfter(t, dir, 1+random.IntN(40), created)
		if t.Failed() {
			return
		}
		head = wantHead(t, dir, max(head, last))
		left = len(temps(t, dir))
		if t.Failed() {
			t.Fatalf("after kill %d", kill)
		}
	}
	fresh := openBucket(t, dir, nil)
	for key, n := range created {
		wantData(t, fresh, key, string(body(n)))
	}
	t.Logf("%d kills, %d creates acknowledged, the head is at %d, %d temporary files are left", kills, len(created), head, left)
}

// killAfter lets a child write and kills it after so many acknowledgements, in the
// middle of a write. It returns the last head that was acknowledged.
func killAfter(t *testing.T, dir string, acks int, created map[string]int) int {
	t.Helper()
	writer := child.Start(t, "write", dir)
	last, seen := 0, 0
	for line := range writer.Lines() { // also those printed before the kill
		words := strings.Fields(line)
		if len(words) != 3 {
			continue
		}
		n, err := strconv.Atoi(words[2])
		if err != nil {
			continue
		}
		if words[0] == "create" {
			created[words[1]] = n
		} else {
			last = n
		}
		if seen++; seen == acks {
			writer.Process.Kill()
		}
	}
	writer.Wait()
	if seen < acks {
		t.Errorf("the child ended by itself after %d acknowledgements: %v", seen, writer.ProcessState)
	}
	return last
}

// wantHead opens the bucket anew and returns the head, which must not be older
// than the one acknowledged. All that is listed is whole.
func wantHead(t *testing.T, dir string, acknowledged int) int {
	t.Helper()
	b := openBucket(t, dir, nil)
	defer b.Close()
	list, err := b.List(t.Context(), "", "", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	head := -1
	for _, e := range list {
		o, err := b.Get(t.Context(), e.Key, bucket.Range{}, "")
		if err != nil {
			t.Fatal(err)
		}
		n, err := bodyOf(o.Data)
		if err != nil || strings.Contains(e.Key, "~") {
			t.Errorf("%s is visible: %v", e.Key, err)
		}
		if e.Key == "head" {
			head = n
		}
	}
	if head < acknowledged {
		t.Errorf("the head is at %d, but %d was acknowledged", head, acknowledged)
	}
	return head
}
