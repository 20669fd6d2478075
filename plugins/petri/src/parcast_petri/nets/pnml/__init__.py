"""PNML: ISO/IEC 15909-2 place/transition nets, and how tools write times into them."""
