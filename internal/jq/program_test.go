package jq

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto/internal/codec"
)

func compile(t testing.TB, text string) *Program {
	t.Helper()
	p, err := Compile(text)
	if err != nil {
		t.Fatalf("Compile(%q): %v", text, err)
	}
	return p
}

func TestRun(t *testing.T) {
	for _, c := range []struct{ program, in, want string }{
		{`.`, `{}`, `{}`},
		{`.`, `{"a":null,"b":[true,false,"x",{}],"c":{"d":[]}}`, `{"a":null,"b":[true,false,"x",{}],"c":{"d":[]}}`},
		{`del(.b) | .z = .a | .c = 1`, `{"a":"x","b":2}`, `{"a":"x","c":1,"z":"x"}`},
		{`.`, `{"max":9223372036854775807,"min":-9223372036854775808,"odd":9007199254740993}`,
			`{"max":9223372036854775807,"min":-9223372036854775808,"odd":9007199254740993}`},
		{`.n += 1`, `{"n":9007199254740992}`, `{"n":9007199254740993}`},
		{`.n = .n + 1 - 1`, `{"n":9223372036854775807}`, `{"n":9223372036854775807}`}, // by way of what is outside int64
		{`.n = 9223372036854775807`, `{}`, `{"n":9223372036854775807}`},
		{`.n = 1.0`, `{}`, `{"n":1}`},
		{`.n = 1.50`, `{}`, `{"n":1.5}`},
		{`.n = 1e3`, `{}`, `{"n":1000}`},
		{`.n |= . / 2`, `{"n":3}`, `{"n":1.5}`},
		{`.n |= tonumber`, `{"n":"42"}`, `{"n":42}`},
		{`.n = -0.0`, `{}`, `{"n":0}`},
		{`.`, `{"n":1e300,"m":1e-7}`, `{"m":1e-7,"n":1e300}`},
		{`{(.k): "é \u0001 <&>"}`, `{"k":"\" \\ \n"}`, `{"\" \\ \n":"é \u0001 <&>"}`},
		{`.name |= ascii_upcase`, `{"name":"ada"}`, `{"name":"ADA"}`},
		{`def half: . / 2; .n |= half`, `{"n":8}`, `{"n":4}`},
		{`.at |= (strptime("%Y-%m-%d %z") | mktime | todate)`, `{"at":"2026-02-10 +0100"}`, `{"at":"2026-02-09T23:00:00Z"}`},
		{`.now = .env | .input = {now: 1, debug: .halt}`, `{"env":1,"halt":2}`, `{"env":1,"halt":2,"input":{"debug":2,"now":1},"now":1}`},
		{`{env, now}`, `{"env":1,"now":2}`, `{"env":1,"now":2}`}, // fields of these names
		{"# a comment\n. # another", `{"a":1}`, `{"a":1}`},
		{`try error("x") catch {caught: .}`, `{}`, `{"caught":"x"}`},
	} {
		got, err := compile(t, c.program).Run(t.Context(), []byte(c.in))
		if err != nil || string(got) != c.want {
			t.Errorf("%s on %s: got %s, %v, want %s", c.program, c.in, got, err, c.want)
		}
	}
}

func TestRunErrors(t *testing.T) {
	for _, c := range []struct{ program, want string }{
		{`empty`, "returned nothing"},
		{`., .`, "more than one value: {\"a\":\"x\"}, then {\"a\":\"x\"}"},
		{`., error("late")`, "failed: late"},
		{`.a`, `returned string "x", not an object`},
		{`null`, "returned null null, not an object"},
		{`[.]`, "returned array"},
		{`error("no tier")`, "failed: no tier"},
		{`error({a: 1})`, `failed: {"a":1}`},
		{`error(null)`, "failed: null"},
		{`.a + 1`, "failed: cannot add"},
		{`.a[0].b`, "failed: expected"},
		{`.n = nan`, "at .n: the number NaN"},
		{`.n = [1, infinite]`, "at .n[1]: the number +Inf"},
		{`.n = 9223372036854775808`, "at .n: the integer 9223372036854775808 is outside int64"},
		{`.n = -9223372036854775808 - 1`, "at .n: the integer -9223372036854775809 is outside int64"},
		{`.n = reduce range(400) as $i (1; . * 2)`, "at .n: the integer of 401 bits is outside int64"},
		{`.s = "\u0000"`, "at .s: text contains U+0000"},
		{`.["\u0000"] = 1`, "text contains U+0000"},
		{`.l = reduce range(70) as $i (1; [.])`, "nested deeper than 64"},
		{`.l = reduce range(62) as $i (1; [., .])`, "more than 16777216 bytes"},
		{`reduce range(62) as $i (.; {a: ., b: .})`, "more than 16777216 bytes"},
		{`error(reduce range(62) as $i (1; [., .]))`, "failed: [[[["},
		{`error("x" * 1000)`, "x…"},
	} {
		got, err := compile(t, c.program).Run(t.Context(), []byte(`{"a":"x"}`))
		if err == nil || !strings.Contains(err.Error(), c.want) || got != nil {
			t.Errorf("%s: got %s, error %v, want %q", c.program, got, err, c.want)
		}
		if err != nil && len(err.Error()) > 500 {
			t.Errorf("%s: the message has %d bytes", c.program, len(err.Error()))
		}
	}
}

func TestCompileErrors(t *testing.T) {
	for _, c := range []struct{ program, want string }{
		{"", "is empty"},
		{" \n\t", "is empty"},
		{"# only this", "no expression"},
		{"def f: 1;", "no expression"},
		{"." + strings.Repeat(" ", MaxProgram), "65537 bytes, the limit is 65536"},
		{"\xff", "not valid UTF-8"},
		{".a ||", `line 1, column 5: unexpected token "|"`},
		{".a\n  | = 1", `line 2, column 5: unexpected token "="`},
		{"{é: }", `line 1, column 2: unexpected token "é"`},
		{"# é\n.é .b", `line 2, column 2: unexpected token "é"`},
		{".a |", "line 1, column 5: the program ends too early"},
		{`"abc`, "line 1, column"},
		{"nosuch", "nosuch/0"},
		{"map(1; 2)", "map/2"},
		{"tostream", "function not defined: tostream/0"},
		{"fromstream(.[])", "function not defined: fromstream/1"},
		{"1 | truncate_stream(.[])", "function not defined: truncate_stream/1"},
		{"JOIN({}; .id)", "function not defined: JOIN/2"},
		{". as $x | $y", "$y"},
	} {
		_, err := Compile(c.program)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Compile(%.40q): got %v, want %q", c.program, err, c.want)
		}
	}
}

func TestImpureIsRefused(t *testing.T) {
	names := []string{"now", "localtime", `strflocaltime("%H")`, "env", "$ENV", "input", "inputs", "input_filename", "input_line_number",
		"debug", `debug("x")`, "stderr", "halt", "halt_error", "halt_error(1)", "builtins", `modulemeta`, "get_search_list", "$__prog_args"}
	places := []string{ // wherever an expression can stand
		"%s", ".a = %s", "[%s]", "{a: %s}", `{("k" + %s): 1}`, `{"\(%s)": 1}`, `"\(%s)"`, `@json "\(%s)"`, ".[%s]", ".[%s:]", ".[:%s]", ".a[%s]?",
		"if %s then . end", "if . then %s end", "if . then . elif %s then . end", "if . then . elif . then %s end", "if . then . else %s end",
		"try %s", "try . catch %s", "reduce %s as $x (.; .)", "reduce . as $x (%s; .)", "reduce . as $x (.; %s)",
		"foreach %s as $x (.; .)", "foreach . as $x (%s; .)", "foreach . as $x (.; %s)", "foreach . as $x (.; .; %s)",
		"label $out | %s", "-(%s)", "(%s)", ". as $x | %s", ". as {(%s): $x} | .", `. as {"\(%s)": $x} | .`, ". as [$x, {a: {(%s): $y}}] | .",
		"def f: %s; f", "def f(g): g; f(%s)", "map(select(%s))", ". // %s", ". and %s", "., %s", "%s | .", "first(%s)", ".a |= %s", "path(%s)",
		". as $x | def f: def g: %s; g; f", "(%s)?", ".. | %s", "reduce . as [$x, {(%s): $y}] (.; .)",
	}
	for _, name := range names {
		for _, place := range places {
			program := fmt.Sprintf(place, name)
			if _, err := Compile(program); err == nil || !strings.Contains(err.Error(), "is not allowed: ") {
				t.Errorf("Compile(%q): got %v, want a refusal", program, err)
			}
		}
	}
	for _, program := range []string{
		`import "a" as a; .`, `include "a"; .`, `import "a" as $a; .`, `module {}; .`, `{$ENV}`, `{$__prog_args}`,
		`strptime("%Z")`, `strptime("%Y%+")`, `strptime("%%%Z")`,
	} {
		if _, err := Compile(program); err == nil || !strings.Contains(err.Error(), "not allowed: ") {
			t.Errorf("Compile(%q): got %v, want a refusal", program, err)
		}
	}
	for _, program := range []string{`strptime(.f)`, `strptime("%" + "Z")`, `strptime("\("%Z")")`} {
		if _, err := Compile(program); err == nil || !strings.Contains(err.Error(), "strptime is only allowed") {
			t.Errorf("Compile(%q): got %v, want a refusal", program, err)
		}
	}
	compile(t, `strptime("%%Z")`)
}

func TestEndlessProgramsAreStopped(t *testing.T) {
	for _, program := range []string{
		`last(repeat(.))`, `def f: f; f`, `until(false; .)`, `last(range(1e18))`, `[range(1e12)]`, `1, last(repeat(.))`, `[limit(1; repeat(empty))]`,
		`try last(repeat(.)) catch .`, `first(repeat(empty))`,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := compile(t, program).Run(ctx, []byte(`{}`))
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "was stopped") {
			t.Errorf("%s: got %v, want the deadline", program, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := compile(t, `.`).Run(ctx, []byte(`{}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("with a cancelled context: got %v", err)
	}
}

func TestGreedyProgramsAreStopped(t *testing.T) {
	for _, program := range []string{
		`[range(1e12) | "x" * 100000]`, `def f: [f]; f`,
	} {
		_, err := compile(t, program).Run(t.Context(), []byte(`{}`))
		if err == nil || !strings.Contains(err.Error(), "was stopped: it took more than 256 MiB") {
			t.Errorf("%s: got %v, want the limit on memory", program, err)
		}
	}
}

func TestConcurrentRuns(t *testing.T) {
	p := compile(t, `.n += 1 | .tags = (["a"] + .tags | unique) | if .s | test("^x[0-9]+$") then .ok = true else . end`)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				n := g*1000 + i
				got, err := p.Run(t.Context(), fmt.Appendf(nil, `{"n":%d,"s":"x%d","tags":["b","a"]}`, n, n))
				want := fmt.Sprintf(`{"n":%d,"ok":true,"s":"x%d","tags":["a","b"]}`, n+1, n)
				if err != nil || string(got) != want {
					t.Errorf("got %s, %v, want %s", got, err, want)
				}
			}
		})
	}
	wg.Wait()
}

// Objects that are written out in a program belong to all its runs.
func TestConstantsStayAsTheyAre(t *testing.T) {
	for _, program := range []string{
		`.c = {x: {y: 1}, z: {w: {}}} | del(.a)`,
		`.c = {x: {y: 1}, z: {w: {}}} | .l = [1, 2] | .l[] |= empty | del(.l, .a)`,
		`.c = {x: {y: 2}, z: {w: {}}} | .c.x.y = 1 | delpaths([["a"]])`,
		`.c = ({x: {y: 1}, z: {w: {}}, v: 1} | del(.v)) | del(.a)`,
	} {
		p := compile(t, program)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 500 {
					const want = `{"c":{"x":{"y":1},"z":{"w":{}}}}`
					if got, err := p.Run(t.Context(), []byte(`{"a":1}`)); err != nil || string(got) != want {
						t.Errorf("%s: got %s, %v, want %s", program, got, err, want)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}

func FuzzRun(f *testing.F) {
	f.Add(`.`, `{"a":9223372036854775807}`)
	f.Add(`.a |= map(. + 1.5)`, `{"a":[1,2.5,-3e-9]}`)
	f.Add(`with_entries(.value |= tostring)`, `{"a":{"b":[null,true]},"c":"\"\\\n"}`)
	f.Add(`to_entries | from_entries | del(..|nulls)`, `{"a":null}`)
	f.Add(`{s: (.s | @base64d), n: (.n * .n)}`, `{"n":9223372036854775807,"s":"/w=="}`)
	f.Fuzz(func(t *testing.T, program, in string) {
		fields, err := codec.AppendCanonical(nil, []byte(in))
		if err != nil || fields[0] != '{' || len(in) > 1000 || len(program) > 200 {
			return
		}
		p, err := Compile(program)
		if err != nil {
			return
		}
		before := string(fields)
		run := func() ([]byte, error) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			return p.Run(ctx, fields)
		}
		first, err := run()
		if string(fields) != before {
			t.Fatalf("%s changed its input from %s to %s", program, before, fields)
		}
		if err != nil {
			return
		}
		canonical, err := codec.AppendCanonical(nil, first)
		if err != nil || string(canonical) != string(first) || first[0] != '{' {
			t.Fatalf("%s on %s: %s is not a canonical object: %v", program, fields, first, err)
		}
		if second, err := run(); err == nil && string(second) != string(first) {
			t.Fatalf("%s on %s: first %s, then %s", program, fields, first, second)
		}
		if program == "." && string(first) != before {
			t.Fatalf("%s became %s", before, first)
		}
	})
}

func BenchmarkRun(b *testing.B) {
	for name, program := range map[string]string{
		"identity": `.`,
		"rename":   `.title = .name | del(.name)`,
		"text":     `.name = "\\(.id) \\(.name) (\\(.tier))" | if .tier == "Gold" then .seats *= 2 else . end`,
		"rebuild":  `{id, name: (.name | ascii_upcase), tier: (.tier // "Basic"), seats: (.seats + 1)}`,
	} {
		b.Run(name, func(b *testing.B) {
			p := compile(b, program)
			in := []byte(`{"id":"c1","name":"Ada Lovelace","seats":3,"tier":"Gold"}`)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Run(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
