"""Mean value analysis of closed networks: exact, approximate and bounds."""
