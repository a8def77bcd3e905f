"""What the theory engine costs, beside SimPy, Ciw, a plain heap and a plain Python loop."""
