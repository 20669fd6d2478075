"""The language: grammar, tree, reading and linking of files, static checks."""
