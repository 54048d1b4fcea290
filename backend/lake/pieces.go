package lake

import (
	"context"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/datafile"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/decide"
)

// pieces decides a long draft piece by piece and writes what it makes to data
// files on disk. Writes come in the order of identity, so types come one after the
// other.
type pieces struct {
	*decide.Candidate
	round   *decide.Round
	backend *Backend
	shelf   *protocol.Shelf
	out     typeWriter

	piece   []backend.Write
	bytes   int64            // of piece
	made    []decide.Version // by the piece that was decided last
	refusal error            // why the draft is refused
}

// run decides all writes.
func (p *pieces) run(ctx context.Context, writes iter.Seq2[backend.Write, error]) error {
	for w, err := range writes {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if len(p.piece) > 0 && p.full(&w) {
			if err := p.decide(ctx); err != nil {
				return err
			}
		}
		p.piece = append(p.piece, w)
		p.bytes += sizeOf(&w)
	}
	return p.decide(ctx)
}

// full reports whether a piece ends before a write: it is large, or of another
// type.
func (p *pieces) full(next *backend.Write) bool {
	last := &p.piece[len(p.piece)-1]
	return p.bytes >= p.backend.opts.StreamBytes/4 || last.TypeName() != next.TypeName()
}

// decide decides a piece and writes what it makes.
func (p *pieces) decide(ctx context.Context) error {
	if len(p.piece) == 0 {
		return nil
	}
	if err := p.lookUp(ctx); err != nil {
		return err
	}
	if p.made, p.refusal = p.Chunk(p.made[:0], p.piece); p.refusal != nil {
		return p.refusal
	}
	for i := range p.made {
		if err := p.out.write(&p.made[i].Version); err != nil {
			return err
		}
	}
	clear(p.piece)
	clear(p.made)
	p.piece, p.bytes = p.piece[:0], 0
	return nil
}

// lookUp finds the newest versions of what the piece names.
func (p *pieces) lookUp(ctx context.Context) error {
	ids := make([]onto.Identity, len(p.piece))
	for i := range p.piece {
		ids[i] = p.piece[i].Identity
	}
	found, err := p.backend.files.Find(ctx, p.shelf, ids[0].TypeName(), ids, p.shelf.Tip.Head.CommitID)
	if err != nil {
		return err
	}
	clear(p.round.Newest)
	for i := range found {
		p.round.Newest[found[i].Identity] = &found[i]
	}
	return nil
}

// typeWriter writes versions to data files on disk, those of one type after those of the
// other.
type typeWriter struct {
	disk  *datafile.Disk
	types *protocol.Types // with the layouts
	limit int64           // bytes of a file

	out   *datafile.Writer // of the type that is being written; nil for none
	files []protocol.DataFile
}

func (w *typeWriter) write(v *onto.Version) error {
	t := v.TypeName()
	if w.out != nil && (w.out.Layout.Kind != t.Kind || w.out.Layout.Type != t.Name) {
		if err := w.endType(); err != nil {
			return err
		}
	}
	if w.out == nil {
		w.out = &datafile.Writer{Disk: w.disk, Layout: datafile.LayoutOf(w.types, t), Limit: w.limit}
	}
	return w.out.Write(v)
}

// endType completes the files of a type.
func (w *typeWriter) endType() error {
	if w.out == nil {
		return nil
	}
	parts, err := w.out.End()
	if err != nil {
		return err
	}
	w.files = append(w.files, parts...)
	w.out = nil
	return nil
}

// end completes all files.
func (w *typeWriter) end() ([]protocol.DataFile, error) {
	err := w.endType()
	return w.files, err
}
