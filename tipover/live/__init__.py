"""A live run: starting, watching and stopping the processes, and writing down what happened."""
