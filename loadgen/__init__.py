"""The open-loop load generator: arrivals on absolute times, hard deadlines, retries, a trace on disk.

This package's ``__init__`` imports nothing, so that reading it patches no sockets; ``loadgen.user``
imports Locust and with it gevent.
"""
