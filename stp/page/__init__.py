"""How tables and figures look: text, HTML, LaTeX, Markdown; no numbers of their own."""
