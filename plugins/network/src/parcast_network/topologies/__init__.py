"""The kinds of topologies: each a function from a description and ports to a fabric."""
