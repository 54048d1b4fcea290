package filter

import (
	"slices"
	"strings"

	"github.com/ontologia/onto"
)

// CheckOperand checks an operand against a schema: one to sort or group by, or an
// aggregate to compute.
func CheckOperand(o onto.Operand, s *Scope) (onto.Operand, error) {
	if o.Any {
		return onto.Operand{}, fault(o.Column, "%s: any belongs into conditions, a list has many elements", FormatOperand(o)).
			WithHint("%s", s.elementsHint(o))
	}
	if _, err := s.aggregateType(o); err != nil {
		return onto.Operand{}, err
	}
	return clone(o), nil
}

// CheckOrder is CheckOperand for an order of versions, which have no aggregates and no
// periods.
func CheckOrder(o onto.Operand, s *Scope) (onto.Operand, error) {
	switch {
	case o.Func != "":
		return onto.Operand{}, fault(o.Column, "%s is an aggregate; only groups are sorted by it", FormatOperand(o)).
			WithHint("%s", wording(o.Column, "add --agg "+FormatOperand(o), "use GroupBy"))
	case o.Per != "":
		return onto.Operand{}, noPeriod(o.Column, o, o.Per)
	}
	return CheckOperand(o, s)
}

// aggregateType checks an operand that may be an aggregate, and tells what its
// value is.
func (s *Scope) aggregateType(o onto.Operand) (onto.FieldType, error) {
	if o.Func == onto.FuncCount {
		if len(o.Path) > 0 || o.Side != onto.OwnSide {
			return "", fault(o.Column, "count takes no path").WithHint("use onto.Count()")
		}
		return onto.Int, nil
	}
	if o.Func != "" && !slices.Contains(funcs(), o.Func) {
		return "", fault(o.Column, "the aggregate %q is unknown", o.Func).WithHint(useAggregates)
	}
	if err := s.insideList(o); err != nil {
		return "", err
	}
	t, err := s.typeOf(o)
	if err != nil {
		return t, err
	}
	if o.Per != "" {
		err, t = s.checkPeriod(o, t), onto.String // a date
	}
	if err != nil || o.Func == "" {
		return t, err
	}
	takes, gives := aggregates(o.Func, t)
	if takes != "" {
		return "", fault(o.Column, "%s: the field is %s, and %s takes %s", FormatOperand(o), t, o.Func, takes).
			WithHint("%s", s.takenHint(o))
	}
	return gives, nil
}

// takenHint names the fields that an aggregate takes.
func (s *Scope) takenHint(o onto.Operand) string {
	return s.fieldsHint(o, "it can take ", "can be taken", func(f onto.Field) bool {
		takes, _ := aggregates(o.Func, f.Type)
		return takes == ""
	})
}

// timesHint names the fields that have periods.
func (s *Scope) timesHint(o onto.Operand) string {
	return s.fieldsHint(o, "the times are ", "is declared as time", func(f onto.Field) bool { return f.Type == onto.Time || f.Type == onto.DateOnly })
}

// fieldsHint names the fields of an operand's type that fit, or says that none does.
func (s *Scope) fieldsHint(o onto.Operand, list, none string, fits func(onto.Field) bool) string {
	schema, err := s.schemaOf(o)
	if err != nil {
		return ""
	}
	var fields []string
	for _, f := range schema.Fields {
		if fits(f) {
			o.Path = []string{f.Name}
			fields = append(fields, spell(o))
		}
	}
	if len(fields) == 0 {
		return "no field of " + schema.Name + " " + none
	}
	return list + shorten(strings.Join(fields, ", "))
}

// insideList reports an operand for groups or an order that leads into the elements of
// a list.
func (s *Scope) insideList(o onto.Operand) error {
	if s == nil || s.Schema == nil || len(o.Path) < 2 {
		return nil
	}
	schema, err := s.schemaOf(o)
	if err != nil {
		return nil // told by typeOf
	}
	if f, ok := schema.Field(o.Path[0]); !ok || f.Type != onto.List {
		return nil
	}
	field := onto.Operand{Side: o.Side, Path: o.Path[:1], Column: o.Column}
	use := "groups and orders take"
	if o.Func != "" {
		use = string(o.Func) + " takes"
	}
	return fault(o.Column, "%s: %s is a list, and %s one value of each version, not those of its elements", FormatOperand(o), FormatOperand(field), use).
		WithHint("%s", s.elementsHint(o))
}

// elementsHint says what can be done about values inside of a list.
func (s *Scope) elementsHint(o onto.Operand) string {
	list := onto.Operand{Side: o.Side, Path: o.Path, Column: o.Column}
	if len(list.Path) > 1 && !o.Any {
		list.Path = list.Path[:1]
	}
	hint := "to compute over elements, make each one an entity or a relation, or keep the result in a field of its own; "
	return hint + wording(o.Column, "avg_len:"+spell(list)+" is the average length of the list", spell(list)+".AvgLen() is the average length of the list")
}

// aggregates is the type of an aggregate over values of type t, or, if it does not take
// them, what it takes.
func aggregates(f onto.Func, t onto.FieldType) (takes string, gives onto.FieldType) {
	switch {
	case f == onto.FuncCountDistinct:
		return "", onto.Int
	case f == onto.FuncMin || f == onto.FuncMax:
		if t == onto.List || t == onto.Object {
			return "numbers, strings, bools and times", ""
		}
		return "", t
	case f == onto.FuncAvgLen && t != onto.List && t != onto.Any:
		return "lists", ""
	case f != onto.FuncAvgLen && t != onto.Int && t != onto.Float && t != onto.Any:
		return "numbers", ""
	}
	return "", onto.Float
}

// CheckHaving fits a filter on groups to what they are grouped by and what is
// computed of them, and returns it with clean values.
func CheckHaving(f onto.Filter, s *Scope, by, compute []onto.Operand) (onto.Filter, error) {
	var known []string
	for _, o := range slices.Concat(by, compute) {
		known = append(known, FormatOperand(o))
	}
	return check(f, func(o onto.Operand) (onto.FieldType, error) {
		if name := FormatOperand(o); !slices.Contains(known, name) {
			return "", notInGroups(o, name, known)
		}
		return s.aggregateType(o)
	})
}

func notInGroups(o onto.Operand, name string, known []string) error {
	err := fault(o.Column, "%s is neither grouped by nor computed", shorten(name))
	if o.Func != "" {
		return err.WithHint("compute it as well")
	}
	if len(known) == 0 {
		return err.WithHint("the groups have no values")
	}
	return err.WithHint("there are %s", shorten(strings.Join(known, ", ")))
}
