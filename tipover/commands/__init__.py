"""The commands of the ``tipover`` program, one module each; ``tipover.cli`` says how they are added."""
