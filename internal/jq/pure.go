package jq

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/itchyny/gojq"
)

// impure returns why a program may not use a function or variable, or "".
func impure(name string) string {
	switch name {
	case "now":
		return "it depends on the clock"
	case "localtime", "strflocaltime":
		return "it depends on the time zone"
	case "env", "$ENV", "$__prog_args":
		return "it depends on the environment"
	case "input", "inputs", "input_filename", "input_line_number":
		return "there is no input but the object"
	case "debug", "stderr":
		return "a program can only return something"
	case "halt", "halt_error":
		return "a program can only return something, or fail with error"
	case "builtins", "modulemeta", "get_search_list":
		return "it depends on how the program is run"
	}
	return ""
}

// checkPure refuses what makes a program depend on more than its input. A name
// is refused even where the program defines it itself.
func checkPure(query *gojq.Query) error { return visit(reflect.ValueOf(query)) }

// visit looks at each node of a syntax tree. It goes by reflection, so that no
// place where an expression can stand is forgotten.
func visit(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		if err := checkNode(v.Interface()); err != nil {
			return err
		}
		return visit(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			if err := visit(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if err := visit(v.Field(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkNode(node any) error {
	name := ""
	switch n := node.(type) {
	case *gojq.Import:
		return fmt.Errorf("import and include are not allowed: a program stands alone, and this one asks for %q", n.ImportPath+n.IncludePath)
	case *gojq.ConstObject:
		return fmt.Errorf("module is not allowed: a program stands alone")
	case *gojq.ObjectKeyVal:
		if strings.HasPrefix(n.Key, "$") { // {$name} reads a variable, {name} a field
			name = n.Key
		}
	case *gojq.Func:
		if n.Name == "strptime" && len(n.Args) == 1 {
			return checkFormat(n.Args[0])
		}
		name = n.Name
	}
	if why := impure(name); why != "" {
		return fmt.Errorf("%s is not allowed: %s", name, why)
	}
	return nil
}

// checkFormat refuses formats of strptime that read the name of a time zone,
// since what a name means depends on the zone of the machine.
func checkFormat(arg *gojq.Query) error {
	t := arg.Term
	if t == nil || t.Type != gojq.TermTypeString || t.Str.Queries != nil || len(t.SuffixList) > 0 {
		return fmt.Errorf("strptime is only allowed with a format that is written out, as in strptime(\"%%Y-%%m-%%d\")")
	}
	for format := t.Str.Str; ; {
		_, rest, found := strings.Cut(format, "%")
		if !found || rest == "" {
			return nil
		}
		if rest[0] == 'Z' || rest[0] == '+' {
			return fmt.Errorf("strptime with %%%c is not allowed: what the name of a time zone means depends on the machine; use %%z", rest[0])
		}
		format = rest[1:]
	}
}
