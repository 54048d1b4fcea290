package jq

import "github.com/itchyny/gojq"

// bound replaces the operators of a program by functions with limits. Cheap ones stay,
// such as a comparison with a constant.
func bound(query *gojq.Query) {
	visit(query, func(node any) {
		switch n := node.(type) {
		case *gojq.Query:
			if f := boundOperator(n); f != nil {
				f.FuncDefs = n.FuncDefs
				*n = *f
			}
		case *gojq.Term:
			boundTerm(n)
		case *gojq.Index:
			if text := n.Str; text != nil && text.Queries != nil {
				n.Start, n.Str = concat(text, ""), nil
			} else if n.Start != nil && !n.IsSlice && !constant(n.Start) {
				n.Start = pipe(n.Start, call("__subscript", run()))
			}
		case *gojq.PatternObject:
			if text := n.KeyString; text != nil && text.Queries != nil {
				n.KeyQuery, n.KeyString = concat(text, ""), nil
			} else if n.KeyQuery != nil {
				n.KeyQuery = pipe(n.KeyQuery, call("__subscript", run()))
			}
		case *gojq.ObjectKeyVal:
			if text := n.KeyString; text != nil && text.Queries != nil {
				text.Queries = []*gojq.Query{group(concat(text, ""))}
			}
		}
	})
}

// boundOperator returns the replacement of an operator, or nil if it can stay.
func boundOperator(q *gojq.Query) *gojq.Query {
	l, r := q.Left, q.Right
	switch q.Op {
	case gojq.OpAdd:
		return unlessConstant(l, r, call("__add", l, r))
	case gojq.OpSub:
		return unlessConstant(l, r, call("__subtract", l, r))
	case gojq.OpMul:
		return call("__multiply", l, r)
	case gojq.OpDiv:
		if constant(r) && r.Term.Type != gojq.TermTypeString {
			return nil
		}
		return call("__divide", l, r)
	case gojq.OpEq:
		return unlessConstant(l, r, call("__equal", run(), l, r))
	case gojq.OpNe:
		return unlessConstant(l, r, call("__notequal", run(), l, r))
	case gojq.OpGt:
		return unlessConstant(l, r, call("__greater", run(), l, r))
	case gojq.OpLt:
		return unlessConstant(l, r, call("__less", run(), l, r))
	case gojq.OpGe:
		return unlessConstant(l, r, call("__greatereq", run(), l, r))
	case gojq.OpLe:
		return unlessConstant(l, r, call("__lesseq", run(), l, r))
	case gojq.OpAssign:
		if path := constantPath(l); path != nil {
			return call("__setpath", run(), path, r)
		}
		return call("__assign", l, r)
	case gojq.OpModify:
		return call("__modify", l, r)
	case gojq.OpUpdateAdd:
		return update(l, gojq.OpAdd, r)
	case gojq.OpUpdateSub:
		return update(l, gojq.OpSub, r)
	case gojq.OpUpdateMul:
		return update(l, gojq.OpMul, r)
	case gojq.OpUpdateDiv:
		return update(l, gojq.OpDiv, r)
	case gojq.OpUpdateMod:
		return update(l, gojq.OpMod, r)
	case gojq.OpUpdateAlt:
		return update(l, gojq.OpAlt, r)
	}
	return nil
}

func unlessConstant(l, r, bounded *gojq.Query) *gojq.Query {
	if constant(l) || constant(r) {
		return nil
	}
	return bounded
}

// boundTerm replaces formats, and texts with expressions in them.
func boundTerm(t *gojq.Term) {
	switch {
	case t.Type == gojq.TermTypeFormat && t.Str == nil:
		t.Type, t.Func = gojq.TermTypeFunc, formatted(t.Format).Term.Func
	case t.Type == gojq.TermTypeFormat && t.Str.Queries != nil:
		t.Type, t.Query, t.Str = gojq.TermTypeQuery, concat(t.Str, t.Format), nil
	case t.Type == gojq.TermTypeString && t.Str.Queries != nil:
		t.Type, t.Query, t.Str = gojq.TermTypeQuery, concat(t.Str, ""), nil
	}
}

// constant reports whether a query is a scalar that is written out.
func constant(q *gojq.Query) bool {
	if q.Term == nil || len(q.FuncDefs) > 0 || len(q.Term.SuffixList) > 0 {
		return false
	}
	switch q.Term.Type {
	case gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse, gojq.TermTypeNumber:
		return true
	case gojq.TermTypeString:
		return q.Term.Str.Queries == nil
	}
	return false
}

// constantPath returns the path of .a["b"][0] as a list, or nil if it is not constant.
func constantPath(q *gojq.Query) *gojq.Query {
	t := q.Term
	if t == nil || len(q.FuncDefs) > 0 || t.Type != gojq.TermTypeIndex {
		return nil
	}
	path := constantStep(t.Index)
	for _, s := range t.SuffixList {
		if step := constantStep(s.Index); path != nil && step != nil {
			path = &gojq.Query{Op: gojq.OpComma, Left: path, Right: step}
		} else {
			return nil
		}
	}
	if path == nil {
		return nil
	}
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeArray, Array: &gojq.Array{Query: path}}}
}

func constantStep(x *gojq.Index) *gojq.Query {
	switch {
	case x == nil || x.IsSlice:
		return nil
	case x.Name != "":
		return text(x.Name)
	case x.Str != nil && x.Str.Queries == nil:
		return text(x.Str.Str)
	case x.Start != nil && constant(x.Start) && (x.Start.Term.Type == gojq.TermTypeString || x.Start.Term.Type == gojq.TermTypeNumber):
		return x.Start
	}
	return nil
}

// update is an assignment with an operator: r as $x | l |= (. op $x).
func update(l *gojq.Query, op gojq.Operator, r *gojq.Query) *gojq.Query {
	const name = "$__operand"
	dot := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIdentity}}
	if constant(r) {
		return call("__modify", l, &gojq.Query{Op: op, Left: dot, Right: r})
	}
	change := call("__modify", l, &gojq.Query{Op: op, Left: dot, Right: call(name)})
	return &gojq.Query{Op: gojq.OpPipe, Left: r, Patterns: []*gojq.Pattern{{Name: name}}, Right: change}
}

// maxArgs is how many arguments the interpreter lets a Go function have.
const maxArgs = 30

// concat is the text made of literal parts and of expressions in a format.
func concat(s *gojq.String, format string) *gojq.Query {
	parts := []*gojq.Query{run()}
	for _, q := range s.Queries {
		if len(parts) == maxArgs {
			parts = []*gojq.Query{run(), call("__concat", parts...)}
		}
		if q.Term.Str == nil {
			q = pipe(q, formatted(format))
		}
		parts = append(parts, q)
	}
	return call("__concat", parts...)
}

// formatted is what turns a value into text; a format of "" is plain text.
func formatted(format string) *gojq.Query {
	if format == "" {
		return call("__text", run())
	}
	return call("__as", text(format[1:]))
}

func call(name string, args ...*gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: name, Args: args}}}
}

func pipe(l, r *gojq.Query) *gojq.Query { return &gojq.Query{Op: gojq.OpPipe, Left: l, Right: r} }

func text(s string) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeString, Str: &gojq.String{Str: s}}}
}

func group(q *gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeQuery, Query: q}}
}

// run is the variable that holds the state of a run, for Go functions.
func run() *gojq.Query { return call(runVariable) }

const runVariable = "$__run"
