"""A machine's numbers from low-level kernels: POLY1, COMMS1 (ping-pong), COMMS3 (all to all).

Source: Cremonesi & Gennaro 2002, section 5.1.1; the kernels are those of Parkbench.
"""
