"""What names, cells, settings and the ends of a file can be, so that something may go wrong with them."""

# fmt: off
#: What a column, a level, a group, a file or a heading can be called.
NAMES = (
    "<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "<!--", "]]>", "&lt;b&gt;&amp;",
    "{{ 7*7 }}{% raw %}", "${7*7}`x`", 'a\'b"c', "O'Brien; DROP TABLE runs", "back\\slash\\n", "new\nline",
    "carriage\rreturn", "tab\there", "bell\x07\x1b[31mred\x1b[0m", "\u202eesrever\u202c", "مرحبا", "ȩ́ combining",
    "🚀", "\ufeffmark", "zero\u200bwidth", " nbsp\xa0", 'x' * 500, "a b c", "a=b", "a,b;c|d", "[a]{b}(c)", "a*b + 1e5",
    "log2", "time", "lower", "verdict", "seconds_lower", "lambda", "None", "nan", "True", "__class__", "constructor",
    "__proto__", "toString", "0", "-1", "1e5", "%s%n", "../../etc/passwd", "~", "-o", "--help", "#comment", "=1+1",
    "@SUM(A1)", "İı ſ ß", "c", "a", "C_1", "fits",
)
#: What a cell of a table can hold.
CELLS = (
    "1e29", "-1e29", "1e-29", "1e31", "1e400", "-0", "+5", "5.", ".5", "5e0", "0x1p3", "1e", "٥", "5\xa0", "５", "½",
    "∞", "1.234,5", "1 234,5", "1,234,567", "12:30:05", "2024-02-30", "5s", "5 µs", "3 GiB", "100%", "$5", "5±1",
    "5 (3)", "5/2", "NaN", "None", "#DIV/0!", "#REF!", "OOM", "out of memory", "Killed", "timeout", "ERR", "-", "?",
    "", "  ", "true", "[]", "{}", '"', "'", "'5", "=5", "5;6", "5|6", "5\t6", "\\N", "\x00", "\x1a", "\ufeff5",
    "\u202e5", '9' * 400, "0." + "0" * 400 + "1", "1_0", "1e1_0", "5d", "1E+02", "0b11", "1j", "5,", ",5", "--5",
    "+-5", "4.9e-324", "1.7976931348623157e308", "0" * 50 + "5",
)
#: Values of genperf.toml.
TOML = (
    "1", "-1", "1.5", "nan", "inf", "true", "''", "'x'", "[]", "['x']", "[1]", "[['x']]", "{}", "{a = 'b'}",
    "[{a = 1}]", "07:32:00", "1979-05-27", "1979-05-27T07:32:00Z", "0x10", "9223372036854775808", "'''a\nb'''",
    '"\\u0000"', '"\\u202e"', "['a', 1]",
)
#: What can stand before and behind a table.
ENDS = (
    "\n\n", "# x\n", "sep=;\n", "\x00", "\ufeff\ufeff", "workers\n", '"', "'", "<?xml version='1.0'?>\n", "%PDF", "{",
    "---\n", "#!/bin/sh\n", "\x1f\x8b", "PAR1", "GIF89a", "\x1a", "\n\n\n", ",,,", "n,f,s\n", "\0" * 100, "# end",
    "total,,,5\n",
)
# fmt: on
