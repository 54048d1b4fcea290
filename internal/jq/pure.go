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
func checkPure(query *gojq.Query) (err error) {
	visit(query, func(node any) {
		if err == nil {
			err = checkNode(node)
		}
	})
	return err
}

// visit visits each node of a syntax tree, which the function may change before what it
// holds is visited. It uses reflection, so that no place where an expression can stand
// is missed.
func visit(node any, f func(node any)) { visitValue(reflect.ValueOf(node), f) }

func visitValue(v reflect.Value, f func(node any)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			f(v.Interface())
			visitValue(v.Elem(), f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			visitValue(v.Index(i), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			visitValue(v.Field(i), f)
		}
	}
}

// maxDepth is how deep a program may be nested. The time to compile it grows with
// the square.
const maxDepth = 1000

// checkDepth refuses a program that is nested too deep. Lists of any length, with
// commas, pipes, and, or, are not counted as nested.
func checkDepth(query *gojq.Query) error {
	if depth(reflect.ValueOf(query), 0) > maxDepth {
		return fmt.Errorf("the program is nested deeper than %d", maxDepth)
	}
	return nil
}

// depth returns how deep a node is nested, starting from a given depth, or anything
// above maxDepth.
func depth(v reflect.Value, from int) int {
	deepest := from
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return from
		}
		switch node := v.Interface().(type) {
		case *gojq.Term:
			from++
		case *gojq.Query:
			switch node.Op {
			case gojq.Operator(0), gojq.OpPipe, gojq.OpComma, gojq.OpAnd, gojq.OpOr, gojq.OpAlt:
			default:
				from++
			}
		}
		if from > maxDepth {
			return from
		}
		return depth(v.Elem(), from)
	case reflect.Slice:
		for i := range v.Len() {
			deepest = max(deepest, depth(v.Index(i), from))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			deepest = max(deepest, depth(v.Field(i), from))
		}
	}
	return deepest
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
