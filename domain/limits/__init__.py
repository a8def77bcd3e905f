"""Server-side adaptive concurrency limits: how many attempts may be in the system at once.

One module a rule: a frozen value with its deployed defaults, and plain functions on numbers. ``decide``
picks the rule by its code; ``account`` is what the live target keeps.
"""
