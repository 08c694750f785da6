"""Hostile titles: code for a browser, SQL, LaTeX, a shell, a template and a path."""

HOSTILE = (
    "</script><script>bad=1</script><b id='bad'>\"R&D\"</b> <!-- é ↑ 'x' ${bad=1} {{7*7}} "
    "100% %(x)s \\input{bad} $x$ #1 _^~ `id` $(id) '; DROP TABLE cells; -- ../../etc/passwd "
    "\u202egnp.exe\u202c\nanother line"
)
WORD = "<b id='bad'>${bad=1}%\u202e../x"
"""A hostile word of at most 40 characters, without comma and quote."""
UNHARMED = "return !('bad' in window) && document.getElementById('bad') === null"
"""Script for a browser, which is true if no hostile code was run."""
