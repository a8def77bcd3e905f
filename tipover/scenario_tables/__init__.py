"""The tables of a scenario file that describe a client and a service, one module a family.

Each model is one table; rules about a single value live here, rules that tie values together in
``tipover.scenario_rules``. Defaults come from ``domain``, where they are written.
"""
