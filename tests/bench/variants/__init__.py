"""The generators that are compared: each module is run as a process of its own and prints one line of JSON."""
