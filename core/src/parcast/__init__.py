"""parcast: how long does a parallel program take on a parallel machine?"""
