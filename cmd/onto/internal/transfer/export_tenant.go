package transfer

import (
	"bytes"
	"context"
	"io"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
)

// part is a store whose records are a part of an export.
type part struct {
	store   *store.Store
	shard   string   // its name; "" for the only store
	types   []string // that are exported, nil for all
	moment  int64
	records int64 // that were written up to its end
}

// explain names the shard in an error.
func (p *part) explain(err error) error {
	if code := onto.CodeOf(err); code != "" && p.shard != "" {
		return onto.Errorf(code, "%s: %w", p.shard, err)
	}
	return err
}

// writeRecords writes the records of stores one after the other, those of CSV with one header.
func writeRecords(ctx context.Context, parts []*part, w io.Writer, o *records.ExportOptions) (int64, error) {
	out := &oneHeader{w: w}
	var written, size int64
	for _, p := range parts {
		opts := *o
		opts.At, opts.Types = onto.AtCommit(p.moment), p.types
		before, start := written, size
		if o.Progress != nil {
			opts.Progress = func(n, b int64) { size = start + b; o.Progress(before+n, size) }
		}
		out.due = opts.Format == records.CSV
		n, err := records.Export(ctx, p.store, out, &opts)
		if written += n; err != nil {
			return written, p.explain(err)
		}
		p.records = written
	}
	return written, nil
}

// oneHeader leaves out the header of every part of a file but the first. It is written in one
// piece, before the records.
type oneHeader struct {
	w      io.Writer
	header []byte
	due    bool // comes next
}

// Write writes a header or a record.
func (h *oneHeader) Write(p []byte) (int, error) {
	if !h.due {
		return h.w.Write(p)
	}
	h.due = false
	switch {
	case h.header == nil:
		h.header = bytes.Clone(p)
		return h.w.Write(p)
	case !bytes.Equal(h.header, p):
		return 0, onto.Errorf(onto.SchemaOutdated, "its columns are not those of the shards before it").
			WithHint("bring all shards to the same types").WithCommand("migrate", "--schema", "FILE")
	}
	return len(p), nil
}

// exportTenant writes the records of the shards of a tenant, one after the other.
func exportTenant(ctx context.Context, c *session.Session, f *exportFlags, opts *records.ExportOptions) error {
	switch id, commit := opts.At.Commit(); {
	case opts.History:
		return onto.Errorf(onto.Invalid, "--history-since is a commit, and each shard has its own commits").
			WithHint("export the stores of the shards by themselves, with --storage-uri; these are they").WithCommand("shard", "status")
	case commit:
		return onto.Errorf(onto.Invalid, "--as-of %d is a commit, and each shard has its own commits", id).WithHint("give a time, such as 2026-02-10T12:34:56Z")
	}
	return c.WithTenant(ctx, place.Reading, func(t session.Tenant) error {
		parts, err := partsOf(ctx, t, opts.Types)
		if err != nil {
			return err
		}
		n, err := exportParts(ctx, c, parts, f, opts)
		if err != nil {
			return err
		}
		if !c.JSON {
			c.Say("exported %s of %s", terminal.Count(n, "record", "records"), terminal.Count(len(parts), "shard", "shards"))
			return nil
		}
		doc := document.TenantExport{Output: f.output, Records: n, Shards: []document.ShardExport{}}
		before := int64(0)
		for _, p := range parts {
			doc.Shards = append(doc.Shards, document.ShardExport{Shard: p.shard, Records: p.records - before, CommitID: p.moment})
			before = p.records
		}
		return c.Document(doc)
	})
}

// partsOf is the shards of a tenant, without those on which none of the types is known yet.
func partsOf(ctx context.Context, t session.Tenant, types []string) ([]*part, error) {
	for _, name := range types {
		if _, err := t.Versions(ctx, t.Vault, t.Name, name); err != nil {
			return nil, err
		}
	}
	shards, err := t.Shards(ctx, t.Vault, t.Name)
	if err != nil {
		return nil, err
	}
	var parts []*part
	for _, s := range shards {
		if s.Store == nil {
			return nil, onto.Errorf(onto.CodeOf(s.Err), "%s: %w", s, s.Err)
		}
		p := &part{store: s.Store, shard: s.Name}
		for _, name := range types {
			if _, err := s.Store.Type(name); err == nil {
				p.types = append(p.types, name)
			}
		}
		if len(types) == 0 || len(p.types) > 0 {
			parts = append(parts, p)
		}
	}
	return parts, nil
}
