"""What ``parcast mpi trace`` leaves behind: its records, and the runs read from them."""
