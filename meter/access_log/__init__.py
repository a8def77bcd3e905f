"""Counts attempts from the access logs of a gateway that is there anyway: HAProxy, nginx or Envoy."""
