"""Results: rows in one schema, their columns, tables, frames, files and pictures."""
