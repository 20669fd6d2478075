"""Timed Petri nets for parcast (Anglano, ICS 1998): the nets and their token game."""
