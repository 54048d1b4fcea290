package codec

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
)

// crcTable is of the polynomial that CPUs have instructions for.
var crcTable = crc32.MakeTable(crc32.Castagnoli)

// CRC is the CRC-32C of some bytes.
func CRC(data []byte) int64 { return int64(crc32.Checksum(data, crcTable)) }

// Checksum is the CRC-32C of a list of values: integers, texts and nil, and what else a
// row of a database can hold. Different lists have different encodings. It uses a buffer.
func Checksum[T any](scratch *[]byte, values []T) int64 {
	buf := (*scratch)[:0]
	for _, v := range values {
		buf = appendSummed(buf, v)
	}
	*scratch = buf
	return CRC(buf)
}

func appendSummed(buf []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(buf, 0)
	case int64:
		return binary.AppendVarint(append(buf, 1), v)
	case int:
		return binary.AppendVarint(append(buf, 1), int64(v))
	case string:
		return append(binary.AppendUvarint(append(buf, 2), uint64(len(v))), v...)
	case []byte:
		return append(binary.AppendUvarint(append(buf, 4), uint64(len(v))), v...)
	case float64:
		return binary.BigEndian.AppendUint64(append(buf, 3), math.Float64bits(v))
	}
	panic(fmt.Sprintf("no checksum is defined for %T", v))
}
