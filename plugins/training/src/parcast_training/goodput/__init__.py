"""Goodput: the share of its time that a job which fails spends on work that lasts.

`failing` has the job, `intervals` when to write checkpoints, `renewal` exact means, `failures`
exact numbers of failures, `simulation` the same job drawn by random numbers.
"""
