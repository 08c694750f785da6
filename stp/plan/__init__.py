"""What exists, what each thing is made from, and where it lives: from configuration, without torch."""
