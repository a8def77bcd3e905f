"""A streaming reverse proxy for HTTP/1.1 that counts what passes and repeats, cancels and hides nothing."""
