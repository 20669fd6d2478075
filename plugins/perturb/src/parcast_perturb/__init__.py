"""Message graphs of traces (Sottile, Chandu & Bader, IPDPS 2006), with corrected rules."""
