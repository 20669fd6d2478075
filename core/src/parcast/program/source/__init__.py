"""Source: the language of programs, its tree, statements and operations."""
