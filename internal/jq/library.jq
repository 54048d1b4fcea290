# What programs can call and what is written in jq itself. The operators in this
# file are bounded like those of a program, see bound.go. A name that begins with _
# is a function of the interpreter, one that begins with __ a Go function or a
# helper of this file. Outputs and errors are those of the interpreter's functions.

# Conditions.
def not: if . then false else true end;
def select(f): if f then . else empty end;
def in(xs): . as $key | xs | has($key);
def isempty(g): first((g | false), true);
def any(g; y): first((g | if y then true else empty end), false);
def any(y): any(.[]; y);
def any: any(.);
def all(g; y): first((g | if y then empty else false end), true);
def all(y): all(.[]; y);
def all: all(.);
def IN(s): . as $x | any(s; . == $x);
def IN(src; s): any(src == s; .);

# Values of a type.
def nulls: select(. == null);
def values: select(. != null);
def booleans: select(type == "boolean");
def numbers: select(type == "number");
def finites: select(isfinite);
def normals: select(isnormal);
def strings: select(type == "string");
def arrays: select(type == "array");
def objects: select(type == "object");
def iterables: select(type | . == "array" or . == "object");
def scalars: select(type | . != "array" and . != "object");

# Parts of a stream. A negative count is an error, a stream may be endless.
def first(g): label $found | g | (., break $found);
def first: .[0];
def last(g): _last(g);
def last: .[-1];
def limit($n; g):
  if $n < 0 then error("limit doesn't support negative count")
  elif $n == 0 then empty
  else label $enough | foreach g as $x ($n; . - 1; $x, if . > 0 then empty else break $enough end) end;
def skip($n; g):
  if $n < 0 then error("skip doesn't support negative count")
  else foreach g as $x ($n; . - 1; if . < 0 then $x else empty end) end;
def nth($n; g): if $n < 0 then error("nth doesn't support negative index") else first(skip($n; g)) end;
def nth($n): .[$n];

# Loops.
def range($from; $upto; $by): _range($from; $upto; $by);
def range($from; $upto): _range($from; $upto; 1);
def range($upto): _range(0; $upto; 1);
def repeat(f): range(infinite) as $round | f;
def until(cond; next): def step: if cond then . else next | step end; step;
def while(cond; update): def step: if cond then ., (update | step) else empty end; step;

# Lists and objects.
def map(f): [.[] | f];
def map_values(f): .[] |= f;
def add(f): [f] | add;
def to_entries: . as $whole | [keys[] | {key: ., value: $whole[.]}];
def from_entries:
  [.[] | {(.key // .Key // .name // .Name): (if has("value") then .value else .Value end)}] | add // {};
def with_entries(f): to_entries | map(f) | from_entries;
def INDEX(stream; f): [stream | {(f | tostring): .}] | add // {};
def INDEX(f): INDEX(.[]; f);
def combinations: . as $lists | length as $n |
  def extend: if length == $n then . else $lists[length][] as $x | . + [$x] | extend end;
  [] | extend;
def combinations(n): [limit(n; repeat(.))] | combinations;

# Values within values.
def recurse(f): def descend: ., (f | descend); descend;
def recurse(f; cond): recurse(f | select(cond));
def recurse: recurse(.[]?);
def walk(f):
  def inner: if type == "array" then map(inner) elif type == "object" then map_values(inner) else . end | f;
  inner;
def paths(f): path(recurse | select(f)) | select(length > 0);
def paths: path(recurse) | select(length > 0);
def pick(f): . as $whole | reduce path(f) as $p (null; setpath($p; $whole | getpath($p)));
def del(f): delpaths([path(f)]);

# Regular expressions.
def test($re; $flags): __match($__run; $re; $flags; true);
def test($re): test($re; null);
def match($re; $flags): __match($__run; $re; $flags; false) | .[];
def match($re): match($re; null);
def capture($re; $flags): match($re; $flags) | .captures | _captures;
def capture($re): capture($re; null);
def scan($re; $flags): match($re; $flags + "g") | if .captures[0] then [.captures[].string] else .string end;
def scan($re): scan($re; null);

# The parts of a text before, between and after matches.
def __between($matches): . as $text |
  [[0, ($matches[] | .offset + .length)], [$matches[].offset, null]] | transpose | map($text[.[0]:.[1]]);
def split($re; $flags): __between([match($re; $flags + "g")]);
def splits($re; $flags): split($re; $flags) | .[];
def splits($re): splits($re; null);

# The first outputs of str make the first result, the second ones the second.
def sub($re; str; $flags): . as $text | [match($re; $flags)] as $matches | __between($matches) as $parts |
  [range($matches | length) as $i | [$matches[$i].captures | _captures | $parts[$i] + str]] |
  (transpose[] | add + $parts[-1]) // $text;
def sub($re; str): sub($re; str; null);
def gsub($re; str; $flags): sub($re; str; $flags + "g");
def gsub($re; str): sub($re; str; "g");

# Dates.
def fromdateiso8601: strptime("%Y-%m-%dT%H:%M:%S%z") | mktime;
def fromdate: fromdateiso8601;
def todateiso8601: strftime("%Y-%m-%dT%H:%M:%SZ");
def todate: todateiso8601;
