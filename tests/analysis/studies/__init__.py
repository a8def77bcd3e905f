"""The studies: the sources' experiments run again."""
