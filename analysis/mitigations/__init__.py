"""The same storm under each mitigation: which of them are known, what each does, and what it costs."""
