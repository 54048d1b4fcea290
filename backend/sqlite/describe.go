package sqlite

import (
	"context"
	"os"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/typelist"
)

// Describe tells about the file.
func (b *Backend) Describe(ctx context.Context, stats bool) (backend.Info, error) {
	info := backend.Info{Backend: "sqlite", Location: b.at.Path}
	if b.temp != "" {
		info.Location = memoryPath
	}
	err := b.reader.read(ctx, func(r *reading) error {
		row, _, err := r.QueryRow(`SELECT format, store_id FROM onto_meta`)
		if err != nil {
			return err
		}
		info.Format, info.StoreID = int(layout.PlainFormat(row.Int(0))), row.Text(1)
		if info.Restores, err = layout.Restores(&r.Moment); err != nil {
			return err
		}
		all, err := layout.ReadSchemas(r.Conn)
		if err != nil {
			return err
		}
		for _, v := range typelist.Newest(all) {
			t := backend.TypeInfo{Kind: v.Schema.Kind, Name: v.Schema.Name, Version: v.Version}
			if stats {
				if err := b.reader.count(r, &t); err != nil {
					return err
				}
			}
			info.Types = append(info.Types, t)
		}
		if stats {
			info.Versions, err = r.QueryInt(`SELECT ` + layout.CountRows())
		}
		return err
	})
	for _, suffix := range []string{"", "-wal"} {
		if f, err := os.Stat(b.at.File + suffix); err == nil {
			info.Bytes += f.Size()
		}
	}
	return info, err
}

// count fills in how much there is of a type.
func (rd *reader) count(r *reading, info *backend.TypeInfo) (err error) {
	t := rd.table(info.Kind)
	info.Live, err = r.QueryInt(`SELECT count(*) FROM `+t.Current+` WHERE `+t.Columns[0]+` = ? AND op = 'put'`, info.Name)
	if err == nil {
		info.Versions, err = r.QueryInt(`SELECT count(*) FROM `+t.History+` WHERE `+t.Columns[0]+` = ?`, info.Name)
	}
	return err
}
