"""The solvers, a file each: what one takes, assumes, costs and solves."""
