"""What stands before a service and may retry on its own: HAProxy, nginx, Envoy."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.victims.processes import free_port, serving


def _program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if found is None:
        raise FileNotFoundError(f"{name} is not installed: `make gateways` installs it")
    return found


@contextmanager
def haproxy(
    log: Path,
    backend: str,
    *,
    retries: int = 0,
    server_timeout_s: float = 60.0,
    server_options: str = "",
    queue_timeout_s: float = 120.0,
) -> Iterator[str]:
    """HAProxy in HTTP mode; with ``retries`` a response timeout is tried again. ``server_options`` of the
    server's line: with ``maxconn 10`` what waits does so in HAProxy, for ``queue_timeout_s`` at most."""
    port = free_port()
    config = log.with_suffix(".haproxy.cfg")
    config.write_text(f"""
global
  maxconn 8000
defaults
  mode http
  timeout connect {round(server_timeout_s * 1e3)}ms
  timeout client 120s
  timeout server {round(server_timeout_s * 1e3)}ms
  timeout queue {round(queue_timeout_s * 1e3)}ms
  retries {retries}
  {"retry-on all-retryable-errors" if retries else ""}
  {"option redispatch 0" if retries else ""}
frontend front
  bind 127.0.0.1:{port} backlog 4096
  default_backend back
backend back
  http-reuse never
  server one {urlsplit(backend).netloc} {server_options}
""")
    with serving([_program("haproxy"), "-db", "-f", str(config)], port, log) as url:
        yield url


@contextmanager
def nginx(log: Path, backend: str, *, hangs_up: bool = False) -> Iterator[str]:
    """nginx as a plain reverse proxy; ``hangs_up`` on the service when its client has gone, as it does unless
    told otherwise."""
    port = free_port()
    home = log.with_suffix(".nginx")
    home.mkdir(exist_ok=True)
    config = home / "nginx.conf"
    config.write_text(f"""
daemon off; worker_processes 1; pid {home}/pid; error_log {home}/error.log warn;
user root;
events {{ worker_connections 8000; }}
http {{
  access_log off; client_body_temp_path {home}/b; proxy_temp_path {home}/p;
  fastcgi_temp_path {home}/f; uwsgi_temp_path {home}/u; scgi_temp_path {home}/s;
  server {{ listen 127.0.0.1:{port} backlog=4096;
    location / {{ proxy_pass {backend}; proxy_read_timeout 120s; proxy_connect_timeout 75s;
                  proxy_ignore_client_abort {"off" if hangs_up else "on"}; }} }}
}}
""")
    with serving([_program("nginx"), "-p", str(home), "-c", str(config)], port, log) as url:
        yield url


@contextmanager
def envoy(
    log: Path,
    backend: str,
    *,
    retries: int = 1,
    per_try_timeout_s: float = 0.25,
    admin_port: int | None = None,
) -> Iterator[str]:
    """The real Envoy, which tries again ``retries`` times when its own per-try timeout has passed; its
    statistics are at ``admin_port``, if one is given."""
    port = free_port()
    host, _, backend_port = urlsplit(backend).netloc.partition(":")
    route = {
        "cluster": "back",
        "timeout": "120s",
        "retry_policy": {
            "retry_on": "5xx,reset,connect-failure",
            "num_retries": retries,
            "per_try_timeout": f"{per_try_timeout_s}s",
            "retry_back_off": {"base_interval": "0.001s", "max_interval": "0.001s"},
        },
    }
    manager = {
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3."
        "HttpConnectionManager",
        "stat_prefix": "in",
        "route_config": {
            "virtual_hosts": [
                {"name": "all", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "route": route}]}
            ]
        },
        "http_filters": [
            {
                "name": "envoy.filters.http.router",
                "typed_config": {
                    "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"
                },
            }
        ],
    }
    most = 20_000
    config: dict[str, Any] = {
        "static_resources": {
            "listeners": [
                {
                    "address": {"socket_address": {"address": "127.0.0.1", "port_value": port}},
                    "tcp_backlog_size": 4096,
                    "filter_chains": [
                        {
                            "filters": [
                                {
                                    "name": "envoy.filters.network.http_connection_manager",
                                    "typed_config": manager,
                                }
                            ]
                        }
                    ],
                }
            ],
            "clusters": [
                {
                    "name": "back",
                    "connect_timeout": "60s",
                    "type": "STATIC",
                    "circuit_breakers": {
                        "thresholds": [
                            {
                                "max_connections": most,
                                "max_pending_requests": most,
                                "max_requests": most,
                                "max_retries": most,
                            }
                        ]
                    },
                    "load_assignment": {
                        "cluster_name": "back",
                        "endpoints": [
                            {
                                "lb_endpoints": [
                                    {
                                        "endpoint": {
                                            "address": {
                                                "socket_address": {
                                                    "address": host,
                                                    "port_value": int(backend_port),
                                                }
                                            }
                                        }
                                    }
                                ]
                            }
                        ],
                    },
                }
            ],
        }
    }
    if admin_port is not None:
        place = {"socket_address": {"address": "127.0.0.1", "port_value": admin_port}}
        config["admin"] = {"address": place}
    path = log.with_suffix(".envoy.json")
    path.write_text(json.dumps(config))
    program = str(Path(sys.executable).parent / "envoy")
    command = [
        program,
        "-c",
        str(path),
        "--concurrency",
        "1",
        "--log-level",
        "warning",
        "--disable-hot-restart",
    ]
    with serving(command, port, log) as url:
        yield url
