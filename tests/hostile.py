"""Titles of people who try: what is code to a browser, SQL, LaTeX, a shell, a template, a path."""

HOSTILE = (
    "</script><script>bad=1</script><b id='bad'>\"R&D\"</b> <!-- é ↑ 'x' ${bad=1} {{7*7}} "
    "100% %(x)s \\input{bad} $x$ #1 _^~ `id` $(id) '; DROP TABLE cells; -- ../../etc/passwd "
    "\u202egnp.exe\u202c\nanother line"
)
WORD = "<b id='bad'>${bad=1}%\u202e../x"
"""The same where a word has 40 signs at most, and no comma or quote."""
UNHARMED = "return !('bad' in window) && document.getElementById('bad') === null"
"""For a browser: nothing of it was run."""
