"""A program's calls played on the machine's network, where messages share links, ports or a bus."""
