package probe

import (
	"context"
	"errors"
	"fmt"

	"github.com/ontologia/onto/backend/lake/bucket"
)

// repeats is how often a question is asked that a cache may answer correctly once.
const repeats = 8

// pattern is data of which every part differs from its neighbours.
func pattern(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i * 131 >> 3)
	}
	return data
}

func failed(format string, args ...any) (Verdict, string) {
	return Failed, fmt.Sprintf(format, args...)
}

// became tells what came of a request.
func became(err error) string {
	if err == nil {
		return "it succeeded"
	}
	return "error: " + err.Error()
}

func (p *probe) readBack(ctx context.Context) (Verdict, string) {
	for _, size := range []int{0, 1, 4096, 1 << 20} {
		name, data := fmt.Sprintf("read-%d", size), pattern(size)
		if _, err := p.create(ctx, name, data); err != nil {
			return failed("a create of %d bytes failed: %v", size, err)
		}
		for range 2 { // a cache may fill only now
			if wrong := p.holds(ctx, name, data); wrong != "" {
				return failed("%s", wrong)
			}
		}
	}
	return OK, "objects of 0 bytes to 1 MiB were read as they were written"
}

func (p *probe) sameTag(ctx context.Context) (Verdict, string) {
	written, err := p.create(ctx, "tag", []byte("0"))
	if err != nil {
		return failed("the create failed: %v", err)
	}
	seen := map[bucket.Tag]bool{}
	for i := range repeats {
		o, err := p.get(ctx, "tag", bucket.Range{}, "")
		switch {
		case err != nil:
			return failed("the read failed: %v", err)
		case written == "" || o.Tag != written:
			return failed("the write returned the tag %q, the read %q", written, o.Tag)
		case seen[o.Tag]:
			return failed("other contents have the same tag %q", o.Tag)
		}
		seen[o.Tag] = true
		if written, err = p.swap(ctx, "tag", fmt.Append(nil, i+1), o.Tag); err != nil {
			return failed("a swap with the tag that was read failed: %v", err)
		}
	}
	return OK, "writes and reads returned the same tags, one for each contents"
}

func (p *probe) createTwice(ctx context.Context) (Verdict, string) {
	if _, err := p.create(ctx, "twice", []byte("first")); err != nil {
		return failed("the first create failed: %v", err)
	}
	_, err := p.create(ctx, "twice", []byte("second"))
	if wrong := p.holds(ctx, "twice", []byte("first")); wrong != "" {
		return failed("after the second create (%s), %s", became(err), wrong)
	}
	if !errors.Is(err, bucket.ErrExists) {
		return failed("the second create should fail since the object exists: %s", became(err))
	}
	return OK, "the second create was refused and changed nothing"
}

func (p *probe) swaps(ctx context.Context) (Verdict, string) {
	tag, err := p.create(ctx, "swap", []byte("0"))
	if err != nil {
		return failed("the create failed: %v", err)
	}
	for i := range repeats {
		data := fmt.Append(nil, i+1)
		if tag, err = p.swap(ctx, "swap", data, tag); err != nil {
			return failed("the swap with the right tag failed: %v", err)
		}
		if wrong := p.holds(ctx, "swap", data); wrong != "" {
			return failed("right after a swap, %s", wrong)
		}
	}
	return OK, "each swap with the right tag was seen by the next read"
}

func (p *probe) staleSwap(ctx context.Context) (Verdict, string) {
	first, err := p.create(ctx, "stale", []byte("first"))
	if err != nil {
		return failed("the create failed: %v", err)
	}
	if _, err = p.swap(ctx, "stale", []byte("second"), first); err != nil {
		return failed("the swap with the right tag failed: %v", err)
	}
	for range 2 {
		_, err = p.swap(ctx, "stale", []byte("third"), first)
		if wrong := p.holds(ctx, "stale", []byte("second")); wrong != "" {
			return failed("after a swap with a stale tag (%s), %s", became(err), wrong)
		}
		if !errors.Is(err, bucket.ErrChanged) {
			return failed("a swap with a stale tag should fail since the object has changed: %s", became(err))
		}
	}
	return OK, "a swap with a stale tag was refused and changed nothing"
}

// missingSwap reports a bucket that answers "changed" for a missing object: the writer
// then reads the head and finds out.
func (p *probe) missingSwap(ctx context.Context) (Verdict, string) {
	tag, err := p.create(ctx, "present", []byte("first"))
	if err != nil {
		return failed("the create failed: %v", err)
	}
	_, err = p.swap(ctx, "missing", []byte("second"), tag)
	if _, found := p.get(ctx, "missing", bucket.Range{}, ""); !errors.Is(found, bucket.ErrNotFound) {
		return failed("a swap of a missing object (%s) left one: the read should find none: %s", became(err), became(found))
	}
	switch {
	case errors.Is(err, bucket.ErrNotFound):
		return OK, "a swap of a missing object was refused and made none"
	case errors.Is(err, bucket.ErrChanged):
		return Reported, "a swap of a missing object was refused as if it had changed"
	}
	return failed("a swap of a missing object should fail since there is none: %s", became(err))
}

func (p *probe) parts(ctx context.Context) (Verdict, string) {
	const size = 100_000
	data := pattern(size)
	tag, err := p.create(ctx, "parts", data)
	if err != nil {
		return failed("the create failed: %v", err)
	}
	for _, r := range []bucket.Range{{Length: 1000}, {Offset: 50_001, Length: 1000}, {Offset: size - 10, Length: 10}, {Offset: size - 10, Length: 100}, {Offset: size - 7}} {
		from, to, err := r.Cut(size)
		if err != nil {
			return failed("%v", err)
		}
		o, err := p.get(ctx, "parts", r, "")
		switch {
		case err != nil:
			return failed("the read of bytes %d to %d failed: %v", from, to, err)
		case string(o.Data) != string(data[from:to]):
			return failed("the read of bytes %d to %d returned %d bytes, which are not these", from, to, len(o.Data))
		case o.Size != size || o.Tag != tag:
			return failed("the read of a part says size %d and tag %q of an object of size %d and tag %q", o.Size, o.Tag, size, tag)
		}
	}
	return OK, "parts from the beginning, the middle and the end were right"
}

func (p *probe) conditionalGet(ctx context.Context) (Verdict, string) {
	first, err := p.create(ctx, "get", []byte("first"))
	if err != nil {
		return failed("the create failed: %v", err)
	}
	_, same := p.get(ctx, "get", bucket.Range{}, first)
	if same != nil && !errors.Is(same, bucket.ErrNotModified) {
		return failed("a get of what has not changed should say so: %s", became(same))
	}
	if _, err = p.swap(ctx, "get", []byte("second"), first); err != nil {
		return failed("the swap with the right tag failed: %v", err)
	}
	if o, err := p.get(ctx, "get", bucket.Range{}, first); err != nil || string(o.Data) != "second" {
		return failed("a get of what has changed should return it: got %q, error %v", o.Data, err)
	}
	if same == nil {
		return Reported, "a get of what has not changed returned it all the same"
	}
	return OK, "a get returned the object only if it had changed"
}

func (p *probe) recreate(ctx context.Context) (Verdict, string) {
	for i := range repeats {
		data := fmt.Append(nil, i)
		if _, err := p.create(ctx, "deleted", data); err != nil {
			return failed("create number %d, after a delete, failed: %v", i+1, err)
		}
		if wrong := p.holds(ctx, "deleted", data); wrong != "" {
			return failed("after create number %d, %s", i+1, wrong)
		}
		if err := retry(ctx, func() error { return p.b.Delete(ctx, p.folder+"deleted") }); err != nil {
			return failed("the delete failed: %v", err)
		}
		if _, err := p.get(ctx, "deleted", bucket.Range{}, ""); !errors.Is(err, bucket.ErrNotFound) {
			return failed("right after a delete, the read should find nothing: %s", became(err))
		}
	}
	return OK, "what was deleted was gone, and what was created then stayed"
}

func (p *probe) listing(ctx context.Context) (Verdict, string) {
	var want []string
	for i := range 3 {
		name := fmt.Sprintf("list/%d", i)
		if _, err := p.create(ctx, name, nil); err != nil {
			return Reported, fmt.Sprintf("the create failed: %v", err)
		}
		want = append(want, p.folder+name)
	}
	var got []string
	err := retry(ctx, func() error {
		list, err := p.b.List(ctx, p.folder+"list/", "", 10)
		got = nil
		for _, e := range list {
			got = append(got, e.Key)
		}
		return err
	})
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		return Reported, fmt.Sprintf("right after 3 creates a listing shows %d objects or another order, error %v", len(got), err)
	}
	return OK, "a listing showed at once what was created, in order"
}
