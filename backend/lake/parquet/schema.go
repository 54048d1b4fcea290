package parquet

import (
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/ontologia/onto"
)

// The sizes of files. Small row groups and pages make the search for one
// identity cheap, large ones make scans cheap.
const (
	groupRows  = 16 << 10 // rows in a row group at most
	groupBytes = 8 << 20  // bytes of fields in a row group, but for the last row
	pageBytes  = 32 << 10 // bytes in a page, but for the last batch
	batchRows  = 32       // rows after which a page may end
)

// What the footer of a file tells besides its columns.
const (
	createdBy = "ontologia"
	storeKey  = "ontologia.store_id"
)

// The limits on files of unknown origin. A small file can decompress to much: pages are
// compressed, and a dictionary repeats a value for each row. What the limits allow is
// several times what a writer makes.
const (
	maxGroupRows  = 1 << 20   // rows in a row group
	maxGroupBytes = 128 << 20 // bytes in a row group, unfolded: of the system columns, and of the typed ones
	maxPageBytes  = 64 << 20  // bytes in a page
	smallPages    = 1 << 20   // bytes that a page of any column may have
)

// The numbers of the columns that come before the keys.
const (
	commitColumn = 0
	typeColumn   = 1
	keyColumn    = 2 // the first
)

// keyColumns is how many columns the keys of a kind have. After them come the
// schema version, the op and the fields.
func keyColumns(kind onto.Kind) int {
	if kind == onto.KindEntity {
		return 1
	}
	return 3
}

// keyOf returns a part of an identity.
func keyOf(id *onto.Identity, part int) string {
	if id.Kind == onto.KindEntity {
		return id.Key
	}
	switch part {
	case 0:
		return id.Left
	case 1:
		return id.Right
	}
	return id.Instance
}

// setKey sets a part of an identity.
func setKey(id *onto.Identity, part int, key string) {
	switch {
	case id.Kind == onto.KindEntity:
		id.Key = key
	case part == 0:
		id.Left = key
	case part == 1:
		id.Right = key
	default:
		id.Instance = key
	}
}

// systemType is the type of a system column.
func systemType(name string) onto.FieldType {
	if name == "commit_id" || name == "schema_version_id" {
		return onto.Int
	}
	return onto.String
}

// physicalType is how the values of a type are stored.
func physicalType(t onto.FieldType) parquet.Type {
	switch t {
	case onto.Int:
		return parquet.Types.Int64
	case onto.Float:
		return parquet.Types.Double
	case onto.Bool:
		return parquet.Types.Boolean
	}
	return parquet.Types.ByteArray
}

// newSchema is the columns of a layout as the file tells them.
func newSchema(l *Layout) (*schema.GroupNode, error) {
	var nodes schema.FieldList
	add := func(name string, t onto.FieldType, repetition parquet.Repetition) error {
		var logical schema.LogicalType
		if physicalType(t) == parquet.Types.ByteArray {
			logical = schema.StringLogicalType{}
		}
		node, err := schema.NewPrimitiveNodeLogical(name, repetition, logical, physicalType(t), -1, -1)
		nodes = append(nodes, node)
		return err
	}
	for _, name := range System(l.Kind) {
		if err := add(name, systemType(name), parquet.Repetitions.Required); err != nil {
			return nil, err
		}
	}
	for _, c := range l.Columns {
		if err := add(c.Name, c.Type, parquet.Repetitions.Optional); err != nil {
			return nil, err
		}
	}
	return schema.NewGroupNode("schema", parquet.Repetitions.Required, nodes, -1)
}

// writerProperties tells how the columns of a layout are written. Nothing in
// them depends on when or where that is.
func writerProperties(l *Layout) *parquet.WriterProperties {
	options := []parquet.WriterProperty{
		parquet.WithCreatedBy(createdBy + " version 1.0.0"),
		parquet.WithVersion(parquet.V2_LATEST),
		parquet.WithDataPageVersion(parquet.DataPageV1),
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithDataPageSize(pageBytes),
		parquet.WithBatchSize(batchRows),
		parquet.WithMaxRowGroupLength(groupRows),
		parquet.WithBloomFilterEnabled(false),
		parquet.WithStats(true),
		parquet.WithStatsFor("fields_json", false),
		parquet.WithDictionaryDefault(false),
		parquet.WithPageIndexEnabled(true), // the default must be, for any column to have one
	}
	for _, name := range []string{string(l.Kind) + "_type", "schema_version_id", "op"} {
		options = append(options, parquet.WithDictionaryFor(name, true))
	}
	for _, c := range l.Columns {
		options = append(options, parquet.WithPageIndexEnabledFor(c.Name, false)) // only system columns are read by row
		if c.Type != onto.Bool {
			options = append(options, parquet.WithDictionaryFor(c.Name, true), parquet.WithDictionaryCostFallbackFor(c.Name, true))
		}
	}
	return parquet.NewWriterProperties(options...)
}
