package onto

import (
	"slices"
	"strings"

	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/suggest"
)

// Compute is the rule by which the store computes a field when a row is written. A field
// that is computed is a required string at the top, and has the name of its rule. Its value
// is never given: it follows from the other fields of the row.
type Compute struct {
	Rule     ComputeRule // what it computes
	ID       string      // the path of the id, such as id or head.id; "" where the rule takes none
	ShardKey string      // the path of the shard key, which may be that of the id; "" where the rule takes none
}

// ComputeRule is the closed set of what the store can compute.
type ComputeRule string

// The rules. ID and shard key are required strings, reached through required objects whose
// fields are declared.
const (
	ComputeKey  ComputeRule = "key"  // the key of an entity: [ObjectKey] if both paths are the same, [ShardedKey] otherwise
	ComputeID   ComputeRule = "id"   // the text at ID
	ComputeText ComputeRule = "text" // the texts of the row, one after the other on lines of their own
)

// ComputeRules lists every rule.
func ComputeRules() []ComputeRule { return []ComputeRule{ComputeKey, ComputeID, ComputeText} }

// FieldName is the name that fields with this rule have.
func (r ComputeRule) FieldName() string { return OwnPrefix + string(r) }

// IsComputed reports whether a field of that name, at the top of an entity or a relation, is
// one that the store computes.
func IsComputed(name string) bool {
	rule, own := strings.CutPrefix(name, OwnPrefix)
	return own && slices.Contains(ComputeRules(), ComputeRule(rule))
}

// ComputedKey returns the rule by which the key of the type's entities is computed; nil if
// the key is a field like others.
func (s *Schema) ComputedKey() *Compute {
	if s.Kind != KindEntity || s.Key != ComputeKey.FieldName() {
		return nil
	}
	f, _ := s.Field(s.Key)
	return f.Compute
}

// Sharded reports whether the id alone does not tell one thing from another: the paths of id
// and shard key differ.
func (c *Compute) Sharded() bool { return c.ID != c.ShardKey }

// equal reports whether two rules compute the same.
func (c *Compute) equal(o *Compute) bool {
	if c == nil || o == nil {
		return c == o
	}
	return *c == *o
}

// describe is the rule in words.
func (c *Compute) describe() string {
	switch {
	case c.Rule == ComputeText:
		return "computed of all texts"
	case c.Rule == ComputeID || !c.Sharded():
		return "computed of " + c.ID
	}
	return "computed of " + c.ShardKey + " and " + c.ID
}

// checkCompute checks the rule of a field, or that it needs none.
func (c *fieldChecker) checkCompute(f *Field, path string, at place) error {
	entity := c.schema.Kind == KindEntity
	switch r := f.Compute; {
	case r == nil && at.top() && c.schema.Kind != KindFact && IsComputed(f.Name):
		return c.fault(path, "a field of this name is computed by the store").
			WithHint("give it the rule %s, or choose another name", strings.TrimPrefix(f.Name, OwnPrefix))
	case r == nil:
		return nil
	case c.schema.Kind == KindFact:
		return c.fault(path, "no attribute of facts is computed")
	case !slices.Contains(ComputeRules(), r.Rule):
		return c.fault(path, "the rule %.80q is unknown", r.Rule).WithHint("use key, id or text")
	case !at.top() || f.Name != r.Rule.FieldName():
		return c.fault(path, "only a field at the top with the name %s has the rule %s", r.Rule.FieldName(), r.Rule)
	case f.Type != String || f.Optional || f.Default != nil || f.Enum != nil:
		return c.fault(path, "a field that is computed is a string without optional, default and enum")
	case r.Rule == ComputeKey && (!entity || c.schema.Key != f.Name):
		return c.fault(path, "the rule key is for the key of entities").WithHint("make %s the key of the type", f.Name)
	case r.Rule != ComputeKey && r.ShardKey != "" || r.Rule == ComputeText && r.ID != "":
		return c.fault(path, "the rule %s takes fewer paths", r.Rule)
	}
	return c.checkPaths(f, path)
}

// checkPaths checks the paths of a rule.
func (c *fieldChecker) checkPaths(f *Field, path string) error {
	paths := map[ComputeRule][]string{ComputeKey: {f.Compute.ID, f.Compute.ShardKey}, ComputeID: {f.Compute.ID}}
	for _, p := range paths[f.Compute.Rule] {
		if p == "" {
			return c.fault(path, "the rule %s needs the path of the id%s", f.Compute.Rule, map[bool]string{true: " and that of the shard key"}[f.Compute.Rule == ComputeKey])
		}
		if err := c.schema.checkPart(p); err != nil {
			return c.fault(path, "%w", err)
		}
	}
	return nil
}

// checkPart refuses a path that does not lead to a text that every row has.
func (s *Schema) checkPart(path string) error {
	f, required, err := s.at(path)
	switch {
	case err != nil:
		return err
	case f.Compute != nil:
		return Errorf(Invalid, "%s is computed itself", path)
	case f.Type != String:
		return Errorf(Invalid, "%s is %s, and must be a string", path, f.Type)
	case !required:
		return Errorf(Invalid, "%s is not in every row", path).WithHint("make it and the objects around it required: neither optional nor with a default")
	}
	return nil
}

// at returns the field that a path leads to, and whether it and all around it is required.
func (s *Schema) at(path string) (f *Field, required bool, err error) {
	names, ok := codec.ParsePath(path)
	if !ok {
		return nil, false, Errorf(Invalid, "%.80q is no path", path).WithHint("write the names of the fields with dots between them, as head.id")
	}
	whole, required, within := &Field{Type: Object, Fields: s.Fields}, true, ""
	for _, name := range names {
		inner, ok := whole.Inner(name)
		if !ok {
			return nil, false, s.unknownPath(whole, within, name)
		}
		required = required && !inner.Optional && inner.Default == nil
		whole, within = inner, FieldPath(within, name)
	}
	return whole, required, nil
}

// unknownPath is the error for a path to a field that an object does not have.
func (s *Schema) unknownPath(object *Field, within, name string) error {
	path := FieldPath(within, name)
	if object.Fields == nil {
		return Errorf(Invalid, "%.400s does not exist: nothing is declared inside %.400s", path, within)
	}
	err := Errorf(Invalid, "%.400s does not exist", path)
	names := slices.DeleteFunc(fieldNames(object.Fields), IsComputed)
	if near := suggest.Name(name, names); near != "" {
		return err.WithHint("did you mean %s?", FieldPath(within, near))
	}
	return err.WithHint("the fields there are %s", strings.Join(names, ", "))
}
