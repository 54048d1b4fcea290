//go:build linux

package jq

import (
	"slices"
	"strings"
	"testing"

	"github.com/itchyny/gojq"
)

// libraryPrograms are calls of each function of the library, one on each line: values,
// streams of several outputs or none, paths, errors, and arguments that are not
// evaluated because the answer is known before.
const libraryPrograms = `
null, false, true, 0, "", [] | not
[1, 2, 3] | [.[] | select(. > 1)], [.[] | select(true, false, true)], [.[] | select(empty)]
{"a": 1, "b": [2]} | [path(.[] | select(type == "array"))]
1 | select(error("x"))
"a" | [in({"a": null}, {"b": 1})]
0, 1 | in([5])
1 | in({})
"a" | in(1)
[isempty(empty)], [isempty(1, error("x"))], [isempty(empty, null)]
isempty(error("x"))
[[], [null], [true, false], [false, 1], {"a": true}, {} | [any, all]]
null | any
1 | all
[1, 2] | [any(. > 1), all(. > 1), any(. > 2), all(. > 0), any(empty), all(empty)]
[1, 2] | [any(false, true), all(true, false)]
[any(1, error("x"); true)], [all(1, error("x"); false)], [any(empty; error("x"))], [all(empty; error("x"))]
any(false, error("x"); .)
all(true, error("x"); .)
any(.[]; .)
[2, 3] | [.[] | IN(2, 4), IN(empty), IN(2, 3)]
2 | IN(2, error("x"))
2 | IN(error("x"), 2)
[2, 3] | IN(.[]; 3), IN(.[]; 9), IN(empty; 1), IN(.[]; empty)
IN(1, error("x"); 1)
IN(1, error("x"); 2, 1)

[null, true, false, 0, -1.5, nan, infinite, 1e-320, "", "a", [], [1], {}, {"a": 1}] | map(nulls | 1), map(values), map(booleans), map(strings), map(arrays), map(objects), map(iterables)
[null, true, 0, -1.5, nan, infinite, 1e-320, "a", [], {}] | map(numbers), map(finites), map(normals), map(scalars) | map(tostring)
{"a": [1, "x", {"b": null}]} | [path(.. | numbers)], [path(.. | scalars)], [path(.. | iterables)], [path(.. | strings, nulls, arrays)]
{"a": [1, "x", null]} | (.. | numbers) |= . + 1 | (.a[] | values) |= [.]

[first(empty)], [first(1, error("x"))], first(range(10; infinite)), [first(null, 1)]
first(error("x"))
[last(empty)], [last(1, 2)], [last(1, null)]
last(1, error("x"))
[5, 6], [], null | first, last
"ab" | last
"ab" | first
{} | first
{} | last
[limit(0; error("x"))], [limit(1; 1, error("x"))], [limit(3; 1, 2)], [limit(1.5; 1, 2, 3)], [limit(2, 0, 1; 1, 2, 3)], [limit(3; empty)]
limit(-1; 1)
limit(-1; empty)
limit(null; 1, 2)
[limit("a"; 1, 2)]
[skip(0; 1, 2)], [skip(1; 1, 2)], [skip(3; 1, 2)], [skip(1.5; 1, 2, 3)], [skip(1, 0; 1, 2)], [skip(1; empty)], first(skip(5; range(infinite)))
skip(-1; 1)
skip(null; 1, 2)
[skip("a"; 1, 2)]
skip(1; error("x"))
[nth(0; 1, error("x"))], [nth(1; 1, 2)], [nth(5; 1, 2)], [nth(0.5, 1.5; 1, 2, 3)], [nth(1, 0; 1, 2)], nth(7; range(infinite))
nth(-1; 1, 2)
nth(null; 1, 2)
nth("a"; 1, 2)
[1, 2] | nth(1, 0, -1, 2)
{"a": 1} | nth("a")
1 | nth(0)
{"a": 1, "b": [2, 3]} | [path(first(.b, .a))], [path(limit(1; .a, .b))], [path(limit(0; .a))], [path(skip(1; .a, .b))], [path(skip(0; .a, .b))], [path(nth(1; .a, .b))], [path(.b | first, last, nth(1))]
{"a": 1, "b": [2, 3]} | path(last(.a, .b))
{"a": [1, 2, 3]} | limit(2; .a[]) |= . * 10 | first(.a[]) |= empty

[range(3)], [range(0)], [range(-1)], [range(2.5)], [range(1, 2)]
[range(1; 3)], [range(3; 1)], [range(0, 1; 2, 3)], [range(0.5; 3)]
[range(0; 10; 3)], [range(10; 0; -4)], [range(0; 10; 0)], [range(0; 10; -1)], [range(0; 1; 0.3)], [range(0, 1; 3, 4; 2, 1)]
first(range(infinite)), [limit(3; range(5; -infinite; -2))]
range("a")
range(0; null)
range(0; 1; "a")
range([]; 1; 1)
[limit(5; repeat(1, 2))], [limit(3; 1 | repeat(. * 2))], [limit(2; repeat(null))]
repeat(error("x"))
{"a": 1} | [limit(2; path(repeat(.a)))]
[1 | until(. > 3; . + 1)], [1 | until(. > 3; . + 1, . + 2)], [1 | until(. > 3, true; . + 1)], [1 | until(true; error("x"))], [1 | until(. > 3; empty)], [1 | until(empty; .)]
1 | until(error("x"); .)
1 | until(false; error("x"))
{"a": {"a": 1}} | [path(until(type == "number"; .a))]
[1 | while(. < 5; . + 1)], [1 | while(. < 3; . + 1, . + 2)], [1 | while(. < 3, . < 2; . + 1)], [1 | while(false; error("x"))], [1 | while(true; empty)], [limit(3; 1 | while(true; . + 1))]
1 | while(. < 3; error("x"))
{"a": {"a": 1}} | [path(while(type == "object"; .a))]

[1, 2] | map(. + 1), map(., .), map(empty)
{"b": 1, "a": 2} | map(. + 1), map_values(. + 1), map_values(empty), map_values(., 9), map_values(select(. > 1))
[1, 2, 3] | map_values(. + 1), map_values(select(. != 2)), map_values(., .)
1 | map(.)
null | map_values(.)
[1] | map(error("x"))
{"a": 1} | map_values(error("x"))
add(empty), add(1, 2), add("a", "b"), add([1], [2]), add({"a": 1}, {"b": 2}, {"a": 3}), add(null, 1), add(null)
add(1, "a")
add(1, "a", error("x"))
{"b": 1, "a": [2]}, [5, 6], {}, [] | to_entries
null | to_entries
"a" | to_entries
[{"key": "a", "value": 1}, {"Key": "b", "Value": 2}, {"name": "c", "value": null}, {"Name": "d", "Value": false}, {"name": "e"}] | from_entries
[{"key": "a", "value": false, "Value": 1}, {"key": "b", "value": null, "Value": 1}, {"key": "a", "value": 3}] | from_entries
[{"key": null, "name": "a"}, {"key": false, "Key": "b", "name": "c"}, {"name": false, "Name": "d"}, {"Key": "e", "Name": "f"}] | from_entries
[], {}, {"x": {"key": "a", "value": 1}} | from_entries
[{"k": "a", "v": 1}] | from_entries
[{"key": 1}] | from_entries
[{"key": false}] | from_entries
[{"Name": false}] | from_entries
[{"key": {}, "value": 1}] | from_entries
[{}] | from_entries
[null] | from_entries
[[]] | from_entries
[{"key": "a"}, 1] | from_entries
null | from_entries
{"a": 1, "b": 2} | with_entries(.value += 1), with_entries(empty), with_entries(., {"key": "c"}), with_entries(select(.key == "b") | .key |= ascii_upcase)
[5, 6] | with_entries(.key |= tostring)
[5, 6] | with_entries(.)
1 | with_entries(.)
[{"id": 1, "x": 2}, {"id": "1"}, {"id": null}, {"id": [1]}], [], {"a": {"id": 1}} | INDEX(.id)
INDEX({"id": 1}, {"id": 2}; .id, "k"), INDEX(empty; .id), INDEX(1, 2; empty)
INDEX(1; .id)
1 | INDEX(.)
[[1, 2], [3, 4]], [[1], []], [[], 1], [], null, {}, 0, [{"a": 1, "b": 2}, [3]] | [combinations]
[[1], 1] | combinations
{"a": [1]} | combinations
"ab" | combinations
true | combinations
[0, 1] | [combinations(2)], [combinations(0)], [combinations(1, 1)], [combinations(empty)]
[0, 1] | combinations(-1)
[0, 1] | combinations("a")
1 | combinations(1)

[1, [2, {"a": 3}]] | [recurse], [recurse(.[]?)], [recurse(.[]?; type == "array")], [path(recurse)], [path(recurse(.[]?))], [recurse(empty)], [recurse(.[]?; empty)]
2 | [recurse(if . < 20 then . * . else empty end)], [recurse(. * .; . < 20)], [limit(4; recurse(. + 1))], [limit(4; recurse(. + 1, . + 2))], [recurse(. + 1; . < 4, . < 3)]
null, 1, "a" | [recurse]
[1] | recurse(.[])
1 | recurse(error("x"))
1 | recurse(. + 1; error("x"))
{"a": {"b": 1}} | (recurse | numbers) |= . + 1
[1, [2, {"b": 3, "a": null}]] | walk(numbers |= . + 1), [walk(select(. != null))], [walk(., .)], [walk(empty)], [walk(numbers)], walk(if type == "array" then length else . end), walk(if type == "object" then keys else . end)
{"b": 1, "a": [2]} | [walk(., 9)], walk(if type == "number" then empty else . end)
1, "a", null, true | walk([.])
[1] | walk(error)
{"a": [1, 2]} | [path(.a[0] | walk(.))]
[1, {"a": 2, "b": [null, false]}], 1, {} | [paths], [paths(type == "number")], [paths(true, true)], [paths(.)], [paths(empty)]
[[1]] | paths(error("x"))
{"a": 1} | paths(. + 1)
{"a": 1, "b": {"c": 2, "d": [3, 4]}} | pick(.b.c), pick(.a, .b.d[1]), pick(.x.y), pick(empty), pick(.), pick(.b.d[]), pick(.b.d[1:]), pick(first(.a, .b))
[1, 2, 3] | pick(.[1]), pick(first), pick(.[2], .[0])
null | pick(.a), pick(.a.b), pick(.[1]), pick(.)
[1, 2, 3] | pick(last)
1 | pick(.a)
{"a": 1} | pick(1)
{"a": 1} | pick(error("x"))
[1, 2, 3, 4] | del(.[0, 2]), del(.[1:]), del(.[]), del(.[-1]), del(.[0], .[0]), del(.[1:3], .[0]), del(empty), del(.), del(.[9]), del(.[] | select(. > 2))
{"a": 1, "b": {"c": 1}} | del(.b, .b.c), del(.b.c, .b), del(.x), del(.x.y), del(..), del(.[]), del(.a, .b.c)
null | del(.a), del(.[0])
{"a": 1} | del(.a.b)
{"a": 1} | del(1)
[1] | del(.a)
{"a": 1} | del(error("x"))

"abc" | test("B"), test("B"; "i"), test("b"; null), test("a.c"; ""), [test("a", "z"; null, "i")], [test("a", "z")]
"a\nc" | test("a.c"), test("a.c"; "m")
"abc" | test(["b", "i"])
"abc" | test("b"; "x")
"abc" | test("b"; "n")
"abc" | test("b"; 1)
"abc" | test("(")
1 | test("a")
"abab" | match("a"), match("b"; "g"), [match("(?<x>a)(b)?(?<y>z)?"; "g")], [match("z")], [match("a", "b"; null, "g") | .offset], [match("a", "b") | .offset]
"", "xyz", "aé日b" | [match(""; "g")], [match("."; "g")], [match("日")]
"abc" | match("b"; "gx")
"abc" | match(1)
1 | match("a")
"ab" | capture("(?<x>a)(?<y>z)?(b)"), [capture("(?<x>[ab])"; "g")], [capture("q")], capture("a"), capture("(?<x>A)"; "i"), [capture("(?<x>a)", "(?<y>b)")]
1 | capture("a")
"a" | capture("a"; 1)
"aXbX" | [scan("X")], [scan("(.)(X)")], [scan("x"; "i")], [scan("x"; null)], [scan("X"; "g")], [scan("(a)|(b)")], [scan("")], [scan("a", "b")], [scan("a"; null, "i")]
"a" | scan("a"; 1)
"a" | scan(1)
1 | scan("a")
"ab,cd, ef" | split(", *"; null), split("C"; "gi"), [split(",", "e"; null, "g")], split("q"; null), split("^a"; null), split("f$"; "")
"", "abc", ",a,", "aé日b日c" | split(""; null), split(","; null), split("日"; null), split("x*"; null), split("."; null)
1 | split("a"; null)
"a" | split(1; null)
"a" | split("a"; 1)
"a" | split("a"; "x")
"ab,cd, ef" | [splits(", *")], [splits(","; null)], [splits("C"; "i")], [splits(",", "e")], [splits(","; "g", "")], first(splits(","))
1 | splits("a")
"a" | splits("a"; 1)
"abc" | sub("b"; "X"), sub("(?<x>b)"; "<\(.x)>"), sub("q"; "X"), sub(""; "X"), sub("b"; ""), sub("b"; null), sub("$"; "X"), sub("(?<x>b)(?<y>z)?"; .y), sub("abc"; "")
"abab" | [sub("a"; "X", "Y")], [sub("a"; empty)], [sub("z"; empty)], [sub("z"; "X", "Y")], [sub("z"; error("x"))], [sub("a", "b"; "X")]
"abab" | sub("a"; "X"; "g"), sub("A"; "X"; "gi"), sub("A"; "X"; "i"), sub("a"; "X"; null), sub("a"; "X"; "gg"), [sub("a", "b"; "X", "Y"; "", "g")]
"xay" | sub("a"; 1)
"xay" | sub("(?<n>a)"; .)
"xay" | first(sub("a"; "Q", error("x")))
1 | sub("a"; "b")
"a" | sub(1; "b")
"a" | sub("a"; "b"; 1)
"abab" | gsub("a"; "X"), gsub(""; "-"), gsub("^"; "-"), gsub("$"; "-"), gsub("a"; ""), gsub("(?<x>[ab])"; .x * 2), gsub("x*"; "-"), gsub("b"; null)
"abab" | [gsub("a"; "X", "Y")], [gsub("(?<x>[ab])"; .x, "Y")], [gsub("a"; empty)], [gsub("a", "b"; "X")], gsub("A"; "x"; "i"), [gsub("A"; "x", "y"; "i", null)]
"a-b-c-d" | [gsub("(?<x>[abc])"; if .x == "b" then "W" else "1", "2" end)], [gsub("(?<x>[abc])"; if .x == "b" then "W", "V" else "1" end)], [gsub("(?<x>[abc])"; if .x == "b" then empty else "1" end)], [gsub("(?<x>[abc])"; select(.x == "b") | "1", "2")]
"aé日b日c" | gsub("日"; "--"), gsub("(?<l>[a-z])"; "\(.l)\(.l)"), gsub("\\p{L}"; ""), gsub("(?<u>é)|(?<v>日)"; "\(.u)\(.v)")
"xayb" | gsub("(?<x>[ab])"; if .x == "b" then 1 else "Q" end)
"xayb" | [gsub("(?<x>[ab])"; if .x == "b" then error("x") else "R", 1 end)]
"xayb" | [gsub("(?<x>[ab])"; if .x == "b" then "Q", 1 else "R" end)]
"a" | gsub("a"; "b"; 1)
"a" | gsub("a"; "b"; "x")
1 | gsub("a"; "b")

"2015-03-05T23:51:47Z", "2015-03-05T23:51:47+0100" | fromdate, fromdateiso8601
"x" | fromdate
1 | fromdateiso8601
0, 1425599507, 1425599507.9, -1 | todate, todateiso8601
"x" | todate
null | todateiso8601
`

// The functions of the library do what the interpreter's own do.
func TestLibrary(t *testing.T) {
	called := map[string]bool{}
	values, errors := 0, 0
	for program := range strings.Lines(libraryPrograms) {
		program = strings.TrimSpace(program)
		if program == "" {
			continue
		}
		query, err := gojq.Parse(program)
		if err != nil {
			t.Fatalf("%s: %v", program, err)
		}
		visit(query, func(node any) {
			if f, ok := node.(*gojq.Func); ok {
				called[signature(f.Name, len(f.Args))] = true
			}
		})
		got, want := limited(t, program), plain(t, program)
		if !slices.Equal(got, want) {
			t.Errorf("%s\n got %q\nwant %q", program, got, want)
		}
		if strings.HasPrefix(final(want), "error: ") {
			errors++
		} else {
			values++
		}
	}
	functions, err := gojq.Parse(libraryText)
	if err != nil {
		t.Fatal(err)
	}
	for _, def := range functions.FuncDefs {
		if name := signature(def.Name, len(def.Args)); !called[name] && !reserved(def.Name) {
			t.Errorf("no program calls %s", name)
		}
	}
	t.Logf("%d functions, %d programs with values, %d with errors", len(functions.FuncDefs), values, errors)
}
