package format

import "encoding/binary"

// AppendFile appends a footer.
func AppendFile(out []byte, f *File) []byte {
	e := &encoder{out: out}
	e.item(func() {
		e.int32(1, 2) // the version of the format
		e.list(2, wireStruct, len(f.Columns)+1)
		e.item(func() {
			e.int32(3, 0)
			e.binary(4, []byte("schema"))
			e.int32(5, int32(len(f.Columns)))
		})
		for i := range f.Columns {
			e.column(&f.Columns[i])
		}
		e.int64(3, f.Rows)
		e.list(4, wireStruct, len(f.Groups))
		for i := range f.Groups {
			e.group(f, i)
		}
		if len(f.Values) > 0 {
			e.list(5, wireStruct, len(f.Values))
		}
		for _, p := range f.Values {
			e.item(func() {
				e.binary(1, []byte(p.Key))
				e.binary(2, []byte(p.Value))
			})
		}
		e.binary(6, []byte(f.CreatedBy))
		e.list(7, wireStruct, len(f.Columns)) // statistics are in the order of each type
		for range f.Columns {
			e.item(func() { e.structure(1, func() {}) })
		}
	})
	return e.out
}

func (e *encoder) column(c *Column) {
	e.item(func() {
		e.int32(1, int32(c.Type))
		repetition := int32(0)
		if c.Optional {
			repetition = 1
		}
		e.int32(3, repetition)
		e.binary(4, []byte(c.Name))
		empty := func() {}
		switch c.Meaning { // in the old form and in the new one
		case String:
			e.int32(6, 0)
			e.structure(10, func() { e.structure(1, empty) })
		case JSON:
			e.int32(6, 19)
			e.structure(10, func() { e.structure(12, empty) })
		case Date:
			e.int32(6, 6)
			e.structure(10, func() { e.structure(6, empty) })
		case Timestamp:
			e.int32(6, 10)
			e.structure(10, func() {
				e.structure(8, func() {
					e.bool(1, true) // in UTC
					e.structure(2, func() { e.structure(2, empty) })
				})
			})
		}
	})
}

func (e *encoder) group(f *File, number int) {
	g := &f.Groups[number]
	e.item(func() {
		e.list(1, wireStruct, len(g.Chunks))
		uncompressed, compressed := int64(0), int64(0)
		for i := range g.Chunks {
			e.chunk(&g.Chunks[i], f.Columns[i].Name)
			uncompressed += g.Chunks[i].Uncompressed
			compressed += g.Chunks[i].Compressed
		}
		e.int64(2, uncompressed)
		e.int64(3, g.Rows)
		e.int64(5, g.Chunks[0].start())
		e.int64(6, compressed)
	})
}

// start is where the first page of a chunk begins.
func (c *Chunk) start() int64 {
	if c.Dictionary > 0 {
		return min(c.Dictionary, c.Data)
	}
	return c.Data
}

func (e *encoder) chunk(c *Chunk, name string) {
	e.item(func() {
		e.int64(2, 0)
		e.structure(3, func() {
			e.int32(1, int32(c.Type))
			e.list(2, wireI32, len(c.Encodings))
			for _, encoding := range c.Encodings {
				e.out = binary.AppendVarint(e.out, int64(encoding))
			}
			e.list(3, wireBinary, 1)
			e.element([]byte(name))
			e.int32(4, int32(c.Codec))
			e.int64(5, c.Values)
			e.int64(6, c.Uncompressed)
			e.int64(7, c.Compressed)
			e.int64(9, c.Data)
			if c.Dictionary > 0 {
				e.int64(11, c.Dictionary)
			}
			if s := c.Statistics; s != nil {
				e.structure(12, func() {
					e.int64(3, s.Nulls)
					if s.Min != nil {
						e.binary(5, s.Max)
						e.binary(6, s.Min)
					}
				})
			}
		})
		if c.Offsets.Length > 0 {
			e.int64(4, c.Offsets.Offset)
			e.int32(5, c.Offsets.Length)
		}
		if c.Bounds.Length > 0 {
			e.int64(6, c.Bounds.Offset)
			e.int32(7, c.Bounds.Length)
		}
	})
}
