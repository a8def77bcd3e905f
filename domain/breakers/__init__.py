"""Client-side breakers: may this call be sent at all, first attempts included?

One module a rule: a frozen value with its deployed defaults, and plain functions on numbers. ``decide``
picks the rule by its code; ``account`` is what a live client keeps.
"""
