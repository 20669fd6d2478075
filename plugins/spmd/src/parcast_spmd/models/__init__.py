"""The paper's models of phases: closed formulas, Markov chains and bounds."""
