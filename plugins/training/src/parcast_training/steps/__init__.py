"""Training steps of language models: from a configuration to time, memory and bottleneck."""
