package flat

import (
	"encoding/binary"
	"errors"
)

var errValues = errors.New("a page has fewer values than its head says")

// appendHybrid appends numbers of a width in bits as Parquet's hybrid of runs and packed bits.
func appendHybrid(out []byte, values []uint32, width int) []byte {
	for len(values) > 0 {
		if run := runOf(values); run >= 8 || run == len(values) {
			out = binary.AppendUvarint(out, uint64(run)<<1)
			for shift := 0; shift < width; shift += 8 {
				out = append(out, byte(values[0]>>shift))
			}
			values = values[run:]
			continue
		}
		n := 8 // packed are eights, of which the last may be incomplete
		for n < len(values) && runOf(values[n:min(n+8, len(values))]) < 8 {
			n += 8
		}
		out = binary.AppendUvarint(out, uint64(n/8)<<1|1)
		n = min(n, len(values))
		out = appendPacked(out, values[:n], width)
		values = values[n:]
	}
	return out
}

// runOf is how many equal values there are at the beginning.
func runOf(values []uint32) int {
	n := 1
	for n < len(values) && values[n] == values[0] {
		n++
	}
	return n
}

// appendPacked appends eights of values, with zeros after the last.
func appendPacked(out []byte, values []uint32, width int) []byte {
	var bits uint64
	have := 0
	for i := range (len(values) + 7) / 8 * 8 {
		if i < len(values) {
			bits |= uint64(values[i]) << have
		}
		for have += width; have >= 8; have -= 8 {
			out = append(out, byte(bits))
			bits >>= 8
		}
	}
	return out
}

// hybrid reads what appendHybrid has written.
type hybrid struct {
	data   []byte
	width  int
	run    int    // values left of a run
	value  uint32 // of the run
	packed int    // packed values left
	bits   uint64 // read of the packed ones
	have   int    // of them, in bits
}

// maxWidth is the most bits of an index into a dictionary.
const maxWidth = 32

// next begins a run or packed values, of which there is one at least.
func (h *hybrid) next() error {
	h.bits, h.have = 0, 0
	head, size := binary.Uvarint(h.data)
	if size <= 0 || head>>1 == 0 {
		return errValues
	}
	h.data = h.data[size:]
	if head&1 == 0 {
		bytes := (h.width + 7) / 8
		if len(h.data) < bytes {
			return errValues
		}
		h.run, h.value = int(min(head>>1, 1<<31)), 0
		for i := range bytes {
			h.value |= uint32(h.data[i]) << (8 * i)
		}
		h.data = h.data[bytes:]
		if h.width < 32 && h.value>>h.width != 0 {
			return errValues
		}
		return nil
	}
	if h.width == 0 {
		h.run, h.value = int(min(head>>1, 1<<28))*8, 0
		return nil
	}
	h.packed = len(h.data) * 8 / h.width // no more than there are
	if groups := head >> 1; groups <= uint64(h.packed/8) {
		h.packed = int(groups) * 8
	}
	if h.packed == 0 {
		return errValues
	}
	return nil
}

// read fills a list.
func (h *hybrid) read(list []uint32) error {
	for len(list) > 0 {
		if h.run == 0 && h.packed == 0 {
			if err := h.next(); err != nil {
				return err
			}
		}
		if h.run > 0 {
			n := min(h.run, len(list))
			for i := range n {
				list[i] = h.value
			}
			h.run -= n
			list = list[n:]
			continue
		}
		n := min(h.packed, len(list))
		h.unpack(list[:n])
		list = list[n:]
	}
	return nil
}

// unpack reads packed values, which are there.
func (h *hybrid) unpack(list []uint32) {
	mask := uint64(1)<<h.width - 1
	for i := range list {
		for h.have < h.width {
			h.bits |= uint64(h.data[0]) << h.have
			h.data = h.data[1:]
			h.have += 8
		}
		list[i] = uint32(h.bits & mask)
		h.bits >>= h.width
		h.have -= h.width
	}
	h.packed -= len(list)
}

// skip reads past values.
func (h *hybrid) skip(n int) error {
	var list [64]uint32
	for n > 0 {
		if h.run > 0 {
			k := min(h.run, n)
			h.run -= k
			n -= k
			continue
		}
		k := min(n, len(list))
		if h.packed > 0 {
			k = min(k, h.packed)
		} else if err := h.next(); err != nil {
			return err
		} else {
			continue
		}
		h.unpack(list[:k])
		n -= k
	}
	return nil
}
