package archive

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"iter"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// chain is the sum of a log up to a commit, or of a list of types. Docs/format/copy.md
// defines it.
type chain [sha256.Size]byte

func seed(text string) chain { return sha256.Sum256([]byte(text)) }

// newChain is the sum of an empty log.
func newChain() chain { return seed("onto/copy/1") }

// add returns the sum after one more element.
func (c chain) add(element []byte) chain {
	h := sha256.New()
	h.Write(c[:])
	h.Write(element)
	h.Sum(c[:0])
	return c
}

// String returns the sum in hexadecimal digits.
func (c chain) String() string { return hex.EncodeToString(c[:]) }

// encoder writes texts with their lengths and numbers with their full width, so that
// different values never have the same bytes.
type encoder []byte

func (b *encoder) text(s string) {
	*b = binary.BigEndian.AppendUint32(*b, uint32(len(s)))
	*b = append(*b, s...)
}

func (b *encoder) number(n int64) { *b = binary.BigEndian.AppendUint64(*b, uint64(n)) }

func (b *encoder) time(t time.Time) {
	if t.IsZero() {
		b.text("")
		return
	}
	b.text(codec.FormatTime(t))
}

// header writes a commit, without how many versions it has.
func (b *encoder) header(c *backend.LogCommit) {
	b.number(c.ID)
	b.time(c.Time)
	for _, text := range [...]string{c.Runtime, string(c.Actor.Kind), c.Actor.ID} {
		b.text(text)
	}
	b.number(c.Causation)
	for _, text := range [...]string{c.Correlation, c.Signature, c.Comment, string(c.Metadata), c.IdempotencyKey, c.Digest} {
		b.text(text)
	}
	b.number(int64(c.Events))
	b.number(c.EventSum)
}

func (b *encoder) version(v *onto.Version) {
	for _, text := range [...]string{string(v.Kind), v.Type, v.Key, v.Left, v.Right, v.Instance, string(v.Op)} {
		b.text(text)
	}
	b.number(int64(v.SchemaVersion))
	b.text(string(v.Fields))
}

// meter computes the sums of the commits of a log.
type meter struct {
	sum   chain // of the commits before the one that began last
	hash  hashing
	begun *backend.LogCommit // nil before the first
	seen  int                // versions of it
}

// take takes an entry.
func (m *meter) take(e *backend.LogEntry) {
	if e.Commit == nil {
		m.seen++
		m.hash.version(&e.Version)
		return
	}
	m.end()
	m.begun, m.seen = e.Commit, 0
	m.hash.begin(m.sum)
	m.hash.buffer.header(e.Commit)
}

// end completes the commit that began last, and returns the sum up to it.
func (m *meter) end() chain {
	if m.begun != nil {
		m.hash.buffer.number(int64(m.seen))
		m.sum = m.hash.end()
		m.begun = nil
	}
	return m.sum
}

// summed is a commit and the sum of the log up to it.
type summed struct {
	commit int64
	sum    chain
}

// sums yields the sum after each commit of a log up to one.
func sums(ctx context.Context, from backend.LogSource, until int64) iter.Seq2[summed, error] {
	return func(yield func(summed, error) bool) {
		m := meter{sum: newChain()}
		head, err := from.LogHead(ctx)
		if err != nil {
			yield(summed{}, err)
			return
		}
		for e, err := range from.Log(ctx, 0) {
			if err != nil {
				yield(summed{}, err)
				return
			}
			if e.Commit != nil {
				if c := m.begun; c != nil && !yield(summed{c.ID, m.end()}, nil) {
					return
				}
				if e.Commit.ID > until {
					return
				}
			}
			m.take(&e)
			if c := m.begun; c.ID == until && until < head && m.seen == c.Operations {
				break // what follows may be damaged
			}
		}
		if c := m.begun; c != nil {
			yield(summed{c.ID, m.end()}, nil)
		}
	}
}

// sumUntil returns the sum of a log up to a commit.
func sumUntil(ctx context.Context, from backend.LogSource, until int64) (chain, error) {
	sum := newChain()
	for s, err := range sums(ctx, from, until) {
		if err != nil {
			return sum, err
		}
		sum = s.sum
	}
	return sum, nil
}
