//go:build linux

package jq

import (
	"context"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/itchyny/gojq"

	"github.com/ontologia/onto/internal/effort"
)

// generator makes programs out of everything that programs may use.
type generator struct {
	*rand.Rand // of the program to make
	leaves     []string
	calls      map[int][]string // names of functions by number of arguments
}

var tameLeaves = []string{
	`.`, `.a`, `.l`, `.o`, `.o.x`, `.l[0]`, `.l[-1]`, `.l[1:]`, `.l[:2]`, `.s`, `.l[]`, `.[]?`, `..`, `null`, `true`, `false`,
	`0`, `1`, `-1`, `2.5`, `3`, `9007199254740993`, `""`, `"x"`, `"a,b"`, `"é-ü"`, `"[1,{\"a\":2}]"`, `"12"`, `"g"`, `"%Y-%m"`, `"(?<n>[a-z])"`, `"a*"`,
	`[]`, `{}`, `[1, [2, 3]]`, `[3, 1, 2, 1]`, `["a", "b"]`, `{"a": 1}`, `{a: {b: [1]}}`, `["o", "x"]`, `["l", 0]`, `[["a"], ["l", 0]]`, `[{"key": "k", "value": 1}]`,
}

var hostileLeaves = []string{
	`1e9`, `-1e9`, `1e18`, `-1e18`, `536870911`, `nan`, `infinite`, `(reduce range(14) as $i (7; . * .))`, long, wide, `("x" * 1000000)`, `("x," * 500000)`,
	`[range(300000)]`, `[limit(100000; repeat("x" * 100))]`, `(reduce range(20000) as $i (1; [.]))`, `(reduce range(20000) as $i (1; {a: .}))`,
	`[range(20000) | "a"]`, `[[range(5000) | 0]]`, `"(x+y)|x"`, `"(x{30}){30}"`, `"[\\pL\\pN]{500}"`, `"%1024Y"`, `("[" * 9000)`, `("9" * 999)`, `[1e8]`, `[[1e8]]`,
	`("[]," * 300000 | "[\(.)1]")`, `{start: 0, end: 1e9}`, `[{start: -1e9, end: 1e9}]`,
}

func newGenerator(t *testing.T, leaves []string) *generator {
	g := &generator{nil, leaves, map[int][]string{}}
	defs, err := library()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		if def := defs[name]; !strings.HasPrefix(name, "__") {
			g.calls[len(def.Args)] = append(g.calls[len(def.Args)], def.Name)
		}
	}
	for n, list := range nativeArities() {
		g.calls[n] = append(g.calls[n], list...)
	}
	return g
}

// nativeArities are the harmless functions by number of arguments.
func nativeArities() map[int][]string {
	calls := map[int][]string{}
	for _, name := range harmless {
		for n := range 4 {
			args := strings.Repeat("; .", n)
			if n > 0 {
				args = "(" + args[2:] + ")"
			}
			query, err := gojq.Parse(name + args)
			if name == "strptime" || err != nil {
				continue
			}
			if _, err := gojq.Compile(query); err == nil {
				calls[n] = append(calls[n], name)
			}
		}
	}
	return calls
}

// shapes are what programs are made of; programs stand for the squares.
var shapes = []string{
	`□ + □`, `□ - □`, `□ * □`, `□ / □`, `□ % □`, `□ == □`, `□ != □`, `□ < □`, `□ <= □`, `□ > □`, `□ >= □`, `□ and □`, `□ or □`, `□ // □`, `-□`,
	`□ | □`, `□ | □`, `□ | □`, `□, □`, `[□]`, `[□]`, `{a: □}`, `{(□ | tostring): □}`, `"\(□)-\(□)"`, `@json "\(□)"`, `@csv "\(□)x\(□)"`, `{"\(□)"}`, `{"\(□)": □}`, `."\(□)"`,
	`□ | @text`, `□ | @json`, `□ | @html`, `□ | @uri`, `□ | @csv`, `□ | @tsv`, `□ | @sh`, `□ | @base64`, `□ | @base64d`, `□ | format("csv")`,
	`.[□]`, `.[□]?`, `.[□:□]`, `□ | .[□]`, `□[]?`, `(□)?`, `□ as $x | $x`, `□ as [$x, {a: $y}] | [$x, $y]`, `□ as {(□): $y} | $y`, `□ as [$x] ?// $x | [$x]`,
	`if □ then □ else □ end`, `if □ then □ elif □ then □ end`, `try □ catch □`, `try error(□) catch .`, `reduce □ as $x (□; □)`, `reduce □ as $x (.; . + $x)`,
	`foreach □ as $x (□; □; [$x, .])`, `label $out | (□, break $out, □)`, `def f: □; f`, `def f(g): g | □; f(□)`, `def f($x): $x, x; [f(□)]`, `first(□)`, `[limit(3; □)]`,
	`.a = □`, `.a |= □`, `.a += □`, `.l[0] = □`, `.l[] |= □`, `.l[1:] = □`, `.l[:1] |= □`, `.. |= □`, `.a -= □`, `.o.x *= □`, `.o /= □`, `.l[0] %= □`, `.a //= □`, `.l[5] = □`,
	`.["a", "o"] = □`, `(.a, .l[0], .o.y) |= □`, `.l[] |= empty`, `(.l[] | select(□)) |= □`, `.[□] = □`, `.[□] |= □`, `□ |= □`, `□ = □`, `del(□)`, `del(.a, .l[0], .o.x)`, `del(.l[□])`,
	`[path(□)]`, `path(..)`, `to_entries`, `with_entries(□)`, `map(□)`, `map_values(□)`, `walk(□)`, `[paths]`, `pick(.a)`, `[.l[] | □]`, `$__loc__`,
}

// program returns a program that is nested as deep.
func (g *generator) program(depth int) string {
	if depth <= 0 || g.IntN(8) == 0 {
		return g.leaves[g.IntN(len(g.leaves))]
	}
	shape := shapes[g.IntN(len(shapes))]
	if g.IntN(3) == 0 {
		n := []int{0, 0, 0, 1, 1, 2, 3}[g.IntN(7)]
		shape = callShape(g.calls[n][g.IntN(len(g.calls[n]))], n)
	}
	return g.fill(shape, depth-1)
}

// callShape is the shape of a call of a function.
func callShape(name string, args int) string {
	if args == 0 {
		return `□ | ` + name
	}
	return `□ | ` + name + "(" + strings.Repeat("; □", args)[2:] + ")"
}

// fill puts programs into a shape.
func (g *generator) fill(shape string, depth int) string {
	var b strings.Builder
	for i, part := range strings.Split(shape, "□") {
		if i > 0 {
			b.WriteString("(" + g.program(depth-g.IntN(2)) + ")" + []string{"", "", "?"}[g.IntN(3)])
		}
		b.WriteString(part)
	}
	return b.String()
}

var inputs = []string{
	`{}`, `{"a":1,"l":[1,2,3],"o":{"x":5,"y":"z"},"s":"a,b,é"}`, `{"a":"x","l":[{"k":1},[2,[3]],null],"o":{"x":{"x":[]}},"s":"2026-02-10T01:02:03Z"}`,
}

// Where a program keeps to the limits, it does what the interpreter does.
func TestLimitsChangeNothingElse(t *testing.T) {
	count, same, failed, left := 0, 0, 0, 0
	g := newGenerator(t, tameLeaves)
	for seed := range effort.Seeds(t, 12_000, 330589377107836029, 9656612264426785389) {
		count++
		g.Rand = rand.New(rand.NewPCG(seed, 12))
		program := g.program(4)
		query, err := gojq.Parse(program)
		if err != nil {
			t.Fatalf("%s: %v", program, err)
		}
		plain, err := gojq.Compile(query)
		ours, refused := Compile(program)
		if err != nil || refused != nil {
			if err == nil {
				t.Fatalf("%s: %v", program, refused)
			}
			left++
			continue
		}
		for _, input := range inputs {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			w := watch{Context: ctx, done: ctx.Done()}
			got := outputs(ours.code.RunWithContext(&w, decode([]byte(input)), &w))
			want := outputs(plain.RunWithContext(&watch{Context: ctx, done: ctx.Done()}, decode([]byte(input))))
			cancel()
			switch {
			case ctx.Err() == context.DeadlineExceeded || w.err != nil:
				left++
			case !alike(got, want) && !pathless(t, program, input):
				t.Errorf("seed %d: %s\non %s\n got %.300q\nwant %.300q", seed, program, input, got, want)
			case strings.HasPrefix(final(want), "error: "):
				failed++
			default:
				same++
			}
		}
	}
	t.Logf("%d programs on %d inputs: %d results were the same, %d errors, %d runs took too much", count, len(inputs), same, failed, left)
}

// pathless reports whether an expression of a program that is no path is used as one,
// which a question mark may hide: what follows is then skipped at another place.
func pathless(t *testing.T, program, input string) bool {
	query, err := gojq.Parse(strings.ReplaceAll(program, "?", ""))
	if err != nil {
		return false
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	return strings.HasPrefix(final(outputs(code.RunWithContext(&watch{Context: ctx, done: ctx.Done()}, decode([]byte(input))))), noPath)
}

// noPath begins the error for an expression that is no path.
const noPath = "error: invalid path"

// alike reports whether outputs are the same. An expression that is no path but is used
// as one may fail at another place.
func alike(got, want []string) bool {
	return slices.Equal(got, want) || strings.HasPrefix(final(got), noPath) || strings.HasPrefix(final(want), noPath)
}

func final(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1]
}

// outputs are the values of a run as text, the last of them perhaps an error.
func outputs(values gojq.Iter) (list []string) {
	defer func() {
		if r := recover(); r != nil {
			list = append(list, "error: panic")
		}
	}()
	for len(list) < 50 {
		v, ok := values.Next()
		if !ok {
			break
		}
		if err, failed := v.(error); failed {
			return append(list, "error: "+wrapped.ReplaceAllString(err.Error(), "expected"))
		}
		text, _ := gojq.Marshal(v)
		list = append(list, wrapped.ReplaceAllString(string(text), "expected"))
	}
	return list
}

// wrapped is the interpreter's error for an assignment to a literal path, and not to
// others. Ours is returned for fewer of them.
var wrapped = regexp.MustCompile(`setpath\(.*: expected`)

// Programs of hostile parts end and do not kill the process: every shape and function
// with hostile values, and deeper ones.
func TestHostilePrograms(t *testing.T) {
	t.Parallel()
	const rounds, deeper = 4, 200
	var jobs []job
	g := newGenerator(t, hostileLeaves)
	g.Rand = effort.Rand(t)
	cases := 0
	add := func(make func() string) {
		// Many take all their time: a plain run does a third of its share.
		if cases++; effort.Includes(t, cases) && (cases%3 == 0 || effort.Thorough(t)) {
			jobs = append(jobs, job{make(), inputs[g.IntN(len(inputs))], 100 * time.Millisecond})
		}
	}
	for range rounds {
		for _, shape := range shapes {
			add(func() string { return g.fill(shape, 0) })
		}
		for n := range 4 {
			for _, name := range g.calls[n] {
				add(func() string { return g.fill(callShape(name, n), 0) })
			}
		}
	}
	g.leaves = slices.Concat(hostileLeaves, tameLeaves)
	for range deeper {
		add(func() string { return g.program(1 + g.IntN(3)) })
	}
	kinds := map[string]int{}
	for _, got := range inChildren(t, jobs) {
		switch kind, _, _ := strings.Cut(got, ":"); {
		case strings.Contains(got, "was stopped"):
			kinds["stopped"]++
		case strings.HasPrefix(got, "{"):
			kinds["result"]++
		default:
			kinds[kind]++
		}
	}
	t.Logf("%d programs: %v", len(jobs), kinds)
}

// missing are functions of the interpreter that programs cannot use.
var missing = []string{"tostream", "fromstream", "truncate_stream", "JOIN"}

// Every function of the interpreter is classified: bounded, harmless, impure, or
// missing.
func TestEveryFunctionIsKnown(t *testing.T) {
	query, err := gojq.Parse(`builtins`)
	if err != nil {
		t.Fatal(err)
	}
	v, _ := query.Run(nil).Next()
	defs, err := library()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range v.([]any) {
		name, _, _ := strings.Cut(f.(string), "/")
		if defs[f.(string)] == nil && !slices.Contains(harmless, name) && impure(name) == "" && !slices.Contains(missing, name) {
			t.Errorf("the interpreter has %s, which is in neither bounded.jq, library.jq, harmless nor missing", f)
		}
	}
	t.Logf("%d functions", len(v.([]any)))
}
