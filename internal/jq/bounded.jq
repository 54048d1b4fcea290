# What replaces operators and built-in functions of the interpreter that could
# take too much of anything within one step. A name that begins with __ is a Go
# function (functions.go), which checks or computes, or the interpreter's own
# function under another name. This file alone uses the operators as they are.

# Operators. The right side is evaluated first, as the interpreter does.
def __add(l; r): r as $r | l as $l | __sum($__run; $l; $r) | $l + $r;
def __multiply(l; r): r as $r | l as $l | __product($__run; $l; $r) | $l * $r;
def __divide(l; r): r as $r | l as $l | __parts($__run; $l; $r) | $l / $r;
def __subtract(l; r): r as $r | l as $l |
  if ($l | type) == "array" and ($r | type) == "array" then __without($__run; $l; $r) else $l - $r end;
def __assign(p; x): x as $x | __edit($__run) as $e |
  reduce path(p) as $q (null; $x | __put($__run; $e; $q)) | $e | __edited($__run);
def __modify(p; f): __edit($__run) as $e |
  reduce path(p) as $q (null; label $done |
    ($e | __current($__run; $q) | __getpath($q) | f | __put($__run; $e; $q) | ., break $done), ($e | __drop($__run; $q))) |
  $e | __edited($__run);

# Functions that descend into a value.
def tojson: __json($__run);
def tostring: __text($__run);
def __format(f): format(f);
def __as(f): f as $f | __whole($__run; .) | __format($f);
def format(f): __as(f);
def __flatten: flatten;
def flatten: __whole($__run; .) | __flatten;
def __flatten($n): flatten($n);
def flatten($n): __whole($__run; .) | __flatten($n);
def __min: min;
def min: __whole($__run; .) | __min;
def __max: max;
def max: __whole($__run; .) | __max;
def __sort: sort;
def sort: __sortable($__run; .) | __sort;
def __unique: unique;
def unique: __sortable($__run; .) | __unique;
def __bsearch(x): bsearch(x);
def bsearch(x): x as $x | __whole($__run; .) | __whole($__run; $x) | __bsearch($x);
def min_by(f): map([f]) as $keys | __whole($__run; $keys) | _min_by($keys);
def max_by(f): map([f]) as $keys | __whole($__run; $keys) | _max_by($keys);
def sort_by(f): map([f]) as $keys | __sortable($__run; $keys) | _sort_by($keys);
def group_by(f): map([f]) as $keys | __sortable($__run; $keys) | _group_by($keys);
def unique_by(f): map([f]) as $keys | __sortable($__run; $keys) | _unique_by($keys);
def contains(x): __contains($__run; .; x);
def inside(x): x as $x | __contains($__run; $x; .);

# Functions whose result can be much larger than their input, or take long.
def __add: add;
def add: __total($__run) | __add;
def __join(s): join(s);
def join(s): s as $s | __joint($__run; $s) | __join($s);
def __explode: explode;
def explode: __letters($__run) | __explode;
def __split(s): split(s);
def split(s): s as $s | __parts($__run; .; $s) | __split($s);
def __transpose: transpose;
def transpose: __cells($__run) | __transpose;
def __fromjson: fromjson;
def fromjson: __readable($__run) | __fromjson;
def __tonumber: tonumber;
def tonumber: __digits($__run) | __tonumber;
def __strftime(f): strftime(f);
def strftime(f): f as $f | __timeformat($__run; $f) | __strftime($f);
def __jn(n; x): jn(n; x);
def jn(n; x): x as $x | n as $n | __order($__run; $n) | __jn($n; $x);
def __yn(n; x): yn(n; x);
def yn(n; x): x as $x | n as $n | __order($__run; $n) | __yn($n; $x);
def indices(x): __indices($__run; x);
def index(x): __index($__run; x);
def rindex(x): __rindex($__run; x);

# Paths.
def __getpath(p): getpath(p);
def getpath(p): p as $p | __path($__run; $p) | __getpath($p);
def setpath(p; x): __setpath($__run; p; x);
def delpaths(p): __delpaths($__run; p);
