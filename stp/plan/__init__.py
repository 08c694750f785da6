"""What exists, what it is made from, and where it lives: from configuration, without torch."""
