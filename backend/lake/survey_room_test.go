package lake

import (
	"testing"

	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
)

// onVolume is a bucket that knows how much room is left.
type onVolume struct {
	bucket.Bucket
	free  int64
	known bool
}

func (b onVolume) Free() (int64, bool) { return b.free, b.known }

// A lake on a volume that is almost full says so, as a store in one file does.
func TestSurveyOfRoom(t *testing.T) {
	for _, c := range []struct {
		name   string
		around func(bucket.Bucket) bucket.Bucket
		want   string
	}{
		{"enough room", func(b bucket.Bucket) bucket.Bucket { return onVolume{b, 64 << 20, true} }, ""},
		{"little room", func(b bucket.Bucket) bucket.Bucket { return onVolume{b, 64<<20 - 1, true} }, "disk_low"},
		{"full", func(b bucket.Bucket) bucket.Bucket { return onVolume{b, 0, true} }, "disk_low"},
		{"not known", func(b bucket.Bucket) bucket.Bucket { return onVolume{b, 0, false} }, ""},
		{"no volume", func(b bucket.Bucket) bucket.Bucket { return b }, ""},
	} {
		l, err := Open(t.Context(), c.around(memory.New(nil)), &Options{Trusted: true})
		if err != nil {
			t.Fatal(err)
		}
		if found := codesOf(surveyed(t, l)); found != c.want {
			t.Errorf("%s: got %q, want %q", c.name, found, c.want)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
