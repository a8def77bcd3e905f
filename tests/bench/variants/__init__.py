"""The generators that are compared: each module runs as a process of its own and prints a line of JSON."""
