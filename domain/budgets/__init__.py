"""Client-side retry budgets: may this retry be sent at all?

One module a rule: a frozen value with its deployed defaults, and plain functions on numbers. ``decide``
picks the rule by its code; ``account`` is what a live client keeps.
"""
