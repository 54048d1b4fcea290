package sqlite

import (
	"context"
	"encoding/json"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/decide"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/internal/typelist"
)

// Restore implements [backend.Archive]. It holds the write lock until the log has ended.
func (b *Backend) Restore(ctx context.Context, r *backend.Restoration) error {
	w, s, err := b.writer.beginWrite(ctx, b.deadline(), starter{})
	if err != nil {
		return driver.Wrap(b.at.Path, err)
	}
	defer b.writer.writing.release()
	defer b.writer.rollbackOpen(w) // also when the sequence panics
	defer b.writer.forgetTypes()   // they were those of the transaction
	rs := &restoration{round: newRound(b.writer, w, s), ctx: ctx}
	rs.unlinked = true
	err = rs.run(r)
	if rs.refusal != nil {
		return rs.refusal
	}
	if err == nil {
		err = b.writer.commit(w)
	}
	return driver.Wrap(b.at.Path, err)
}

// restoration is a round that was decided elsewhere, under construction.
type restoration struct {
	*round
	ctx     context.Context
	replay  *decide.Replay
	written int   // how many of Commits are written
	open    int64 // the checksums of its versions so far, of the last of them
	grown   bool  // since it was written
	refusal error // of the sequence or of what it yields; it is returned as it is
}

func (s *restoration) run(r *backend.Restoration) error {
	if s.replay, s.refusal = s.Replay(r); s.refusal != nil {
		return s.refusal
	}
	types := s.replay.Types.All
	if err := s.retype(s.ctx, types, typelist.Last(types), s.replay.Purged); err != nil {
		return err
	}
	for piece, err := range s.replay.Pieces(s.ctx, replayChunk, chunkBytes) {
		if err != nil {
			s.refusal = err
			return err
		}
		if err := s.writePiece(piece); err != nil {
			return err
		}
	}
	if err := s.complete(); err != nil {
		return err
	}
	s.replay.End()
	if err := layout.Derive(s.ctx, s.w, typelist.Last(types), nil); err != nil {
		return err
	}
	if err := s.ctx.Err(); err != nil {
		return err
	}
	return layout.WriteCopy(s.w, r.Copy())
}

// replayChunk is how many commits and versions are written at once.
const replayChunk = 4096

// writePiece writes some versions, and first the commits that have begun with them.
func (s *restoration) writePiece(piece []decide.Version) error {
	begun := s.Commits[s.written:]
	if err := s.checkKeys(begun); err != nil {
		return err
	}
	if n := len(s.Commits); n > 0 {
		sums := layout.VersionSums(s.w, s.Commits[0].ID, n, piece)
		if s.written > 0 && sums[0] != 0 {
			s.open += sums[0]
			s.grown = true
		}
		if len(begun) > 0 {
			if err := s.complete(); err != nil {
				return err
			}
			s.open = sums[n-1]
		}
		if err := layout.InsertCommits(s.w, begun, sums[s.written:]); err != nil {
			return err
		}
		s.Commits = append(s.Commits[:0], s.Commits[n-1]) // which may have more versions
		s.written = 1
	}
	if err := s.link(piece); err != nil {
		return err
	}
	return s.insertVersions(piece)
}

// complete writes what the last commit that was written has made since.
func (s *restoration) complete() error {
	if !s.grown {
		return nil
	}
	s.grown = false
	return layout.UpdateCommit(s.w, &s.Commits[0], s.open)
}

// checkKeys refuses commits with a key that a stored commit has used. Those of the log
// itself are compared as they come, until they are stored.
func (s *restoration) checkKeys(begun []decide.Commit) error {
	var keys []string
	for i := range begun {
		if key := begun[i].IdempotencyKey; key != "" {
			keys = append(keys, key)
		}
	}
	if keys == nil {
		return nil
	}
	clear(s.Keys)
	list, err := json.Marshal(keys)
	if err != nil {
		return err
	}
	used := map[string]int64{}
	err = s.w.Each(context.Background(), `SELECT c.idempotency_key, c.id FROM json_each(?) j CROSS JOIN commits c ON c.idempotency_key = j.value`,
		[]any{string(list)}, func(rows *driver.Rows) error {
			used[rows.Text(0)] = rows.Int(1)
			return nil
		})
	for i := range begun {
		if id := used[begun[i].IdempotencyKey]; id > 0 && err == nil {
			s.refusal = refusal.LogKeyUsed(&backend.LogCommit{Commit: begun[i].Commit}, id)
			return s.refusal
		}
	}
	return err
}

// link tells versions of types with words what they supersede. For others it is found out
// where they are written.
func (s *restoration) link(piece []decide.Version) error {
	search := s.wr.types.search
	if len(search) == 0 {
		return nil
	}
	clear(s.Newest)
	var ids identities
	found := false
	for i := range piece {
		if id := &piece[i].Identity; search[id.TypeName()] != nil {
			list := &ids[layout.Place(id.Kind)]
			*list = append(*list, id)
			found = true
		}
	}
	if !found {
		return nil
	}
	err := s.lookup(ids)
	s.replay.Link(piece)
	return err
}
