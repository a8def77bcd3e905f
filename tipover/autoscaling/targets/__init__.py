"""Whoever keeps the pods: asked how many there are, told how many there shall be."""
