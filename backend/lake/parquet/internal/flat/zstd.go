package flat

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/ontologia/onto/backend/lake/parquet/internal/format"
)

// One encoder and one decoder serve all files. They are safe for concurrent use.
var (
	encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithZeroFrames(true), zstd.WithAllLitEntropyCompression(true))
	})
	decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true))
	})
)

// unfold decompresses a page to as many bytes as its head says, into a buffer if it has
// room. An uncompressed page is returned as it is.
func unfold(codec format.Codec, into, page []byte, size int) ([]byte, error) {
	switch codec {
	case format.Uncompressed:
		if len(page) != size {
			return nil, fmt.Errorf("a page has %d bytes, not %d", len(page), size)
		}
		return page, nil
	case format.Zstd:
	default:
		return nil, fmt.Errorf("its pages are compressed in the unknown way %d", codec)
	}
	z, err := decoder()
	if err != nil {
		return nil, err
	}
	if cap(into) < size {
		into = make([]byte, 0, size)
	}
	out, err := z.DecodeAll(page, into[:0:size])
	if err == nil && len(out) != size {
		err = fmt.Errorf("a page unfolds to %d bytes, not %d", len(out), size)
	}
	return out, err
}
