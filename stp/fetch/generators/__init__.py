"""Stand-ins for raw datasets, one module each: the official file format with made-up content."""
