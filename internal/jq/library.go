package jq

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/itchyny/gojq"
)

var (
	//go:embed bounded.jq
	boundedText string
	//go:embed library.jq
	libraryText string
)

// harmless are the functions of the interpreter that take no more time and memory than
// a small multiple of the length of their input, and do not descend into it. A program
// calls these, what it defines itself, and what is defined in bounded.jq and
// library.jq: every other function of the interpreter is refused.
var harmless = strings.Fields(`
	abs acos acosh ascii_downcase ascii_upcase asin asinh atan atan2 atanh cbrt ceil copysign cos cosh
	drem empty endswith erf erfc error exp exp10 exp2 expm1 fabs fdim floor fma fmax fmin fmod frexp
	gamma gmtime has hypot implode infinite isfinite isinfinite isnan isnormal j0 j1 keys ldexp length
	lgamma log log10 log1p log2 logb ltrim ltrimstr mktime modf nan nearbyint nextafter nexttoward path
	pow remainder reverse rint round rtrim rtrimstr scalb scalbln significand sin sinh sqrt startswith
	strptime tan tanh tgamma toboolean trim trimstr trunc type utf8bytelength y0 y1`)

// library is what programs can call, by name and number of arguments.
var library = sync.OnceValues(func() (map[string]*gojq.FuncDef, error) {
	bounded, err := gojq.Parse(boundedText)
	if err != nil {
		return nil, fmt.Errorf("bounded.jq: %w", err)
	}
	rest, err := gojq.Parse(libraryText)
	if err != nil {
		return nil, fmt.Errorf("library.jq: %w", err)
	}
	bound(rest)
	defs := map[string]*gojq.FuncDef{}
	for _, def := range slices.Concat(bounded.FuncDefs, rest.FuncDefs) {
		defs[signature(def.Name, len(def.Args))] = def
	}
	return defs, nil
})

func signature(name string, args int) string { return fmt.Sprintf("%s/%d", name, args) }

// link puts what a program needs of the library in front of it, each function
// after those that it calls.
func link(query *gojq.Query) error {
	defs, err := library()
	if err != nil {
		return err
	}
	var needed []*gojq.FuncDef
	seen := map[string]bool{}
	var add func(caller string, node any)
	add = func(caller string, node any) {
		f, ok := node.(*gojq.Func)
		if !ok || caller == "__"+f.Name { // __x is the interpreter's x, for the x of the library
			return
		}
		name := signature(f.Name, len(f.Args))
		if def := defs[name]; def != nil && !seen[name] {
			seen[name] = true
			visit(def, func(node any) { add(def.Name, node) })
			needed = append(needed, def)
		}
	}
	visit(query, func(node any) { add("", node) })
	query.FuncDefs = append(needed, query.FuncDefs...)
	return nil
}

// checkCalls refuses calls of what is neither in the program nor known to be
// bounded, and names that are kept for the library.
func checkCalls(query *gojq.Query) error {
	defs, err := library()
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, name := range harmless {
		known[name] = true
	}
	for _, def := range defs {
		known[def.Name] = true
	}
	visit(query, func(node any) {
		if def, ok := node.(*gojq.FuncDef); ok {
			known[def.Name] = true
			for _, arg := range def.Args {
				known[strings.TrimPrefix(arg, "$")] = true
			}
		}
	})
	visit(query, func(node any) {
		for _, name := range namesOf(node) {
			switch f, call := node.(*gojq.Func); {
			case err != nil:
			case reserved(name):
				err = fmt.Errorf("%s is not allowed: the name is reserved", name)
			case call && name[0] != '$' && !known[name]:
				err = fmt.Errorf("function not defined: %s", signature(name, len(f.Args)))
			}
		}
	})
	return err
}

// namesOf returns the names of functions and variables that a node has.
func namesOf(node any) []string {
	switch n := node.(type) {
	case *gojq.Func:
		return []string{n.Name}
	case *gojq.FuncDef:
		return append([]string{n.Name}, n.Args...)
	case *gojq.Pattern:
		return []string{n.Name}
	case *gojq.PatternObject:
		return []string{n.Key}
	case *gojq.ObjectKeyVal:
		if strings.HasPrefix(n.Key, "$") { // {$name} reads a variable, {name} a field
			return []string{n.Key}
		}
	}
	return nil
}

// reserved reports whether a name is one of the library, or one that stands for
// an operator in the interpreter.
func reserved(name string) bool {
	switch bare := strings.TrimPrefix(name, "$"); {
	case name == "$__loc__" || name == "$__prog_args":
		return false
	case strings.HasPrefix(bare, "__"):
		return true
	case name == bare:
		return slices.Contains(internalNames, name)
	}
	return false
}

// internalNames are those of the interpreter's functions that stand for
// operators, formats and parts of other functions.
var internalNames = strings.Fields(`
	_add _allocator _alternative _assign _break _captures _delpaths _divide _equal _greater _greatereq _group_by
	_index _last _less _lesseq _match _max_by _min_by _modify _modulo _multiply _negate _notequal _plus _range
	_setpath _slice _sort_by _subtract _tobase64 _tobase64d _tocsv _tohtml _tosh _totsv _touri _tourid _unique_by`)
