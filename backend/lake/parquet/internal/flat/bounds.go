package flat

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"

	"github.com/ontologia/onto/backend/lake/parquet/internal/format"
)

// maxBound is how long a least or greatest value may be to be told.
const maxBound = 4096

// boundsOf is the statistics of some rows and their values.
func (c *chunkWriter) boundsOf(row, rows, value, values int) format.Statistics {
	s := format.Statistics{Nulls: int64(rows - values)}
	if values == 0 {
		return s
	}
	switch c.column.Type {
	case format.ByteArray:
		low, high := extremes(c.values.Texts[value:value+values], bytes.Compare)
		if len(low) <= maxBound && len(high) <= maxBound {
			s.Min, s.Max = append([]byte{}, low...), append([]byte{}, high...)
		}
	case format.Int64:
		low, high := extremes(c.values.Ints[value:value+values], cmp.Compare[int64])
		s.Min, s.Max = binary.LittleEndian.AppendUint64(nil, uint64(low)), binary.LittleEndian.AppendUint64(nil, uint64(high))
	case format.Int32:
		low, high := extremes(c.values.Ints[value:value+values], cmp.Compare[int64])
		s.Min, s.Max = binary.LittleEndian.AppendUint32(nil, uint32(low)), binary.LittleEndian.AppendUint32(nil, uint32(high))
	case format.Double:
		low, high := extremes(c.values.Floats[value:value+values], cmp.Compare[float64])
		if low == 0 {
			low = math.Copysign(0, -1) // -0 and 0 are equal, and readers may take either
		}
		if high == 0 {
			high = 0
		}
		s.Min, s.Max = binary.LittleEndian.AppendUint64(nil, math.Float64bits(low)), binary.LittleEndian.AppendUint64(nil, math.Float64bits(high))
	case format.Boolean:
		low, high := extremes(c.values.Bools[value:value+values], func(a, b bool) int { return int(bit(a)) - int(bit(b)) })
		s.Min, s.Max = []byte{bit(low)}, []byte{bit(high)}
	}
	return s
}

func bit(yes bool) byte {
	if yes {
		return 1
	}
	return 0
}

// extremes is the least and the greatest of some values.
func extremes[T any](values []T, compare func(a, b T) int) (low, high T) {
	low, high = values[0], values[0]
	for _, v := range values[1:] {
		if compare(v, low) < 0 {
			low = v
		} else if compare(v, high) > 0 {
			high = v
		}
	}
	return low, high
}
