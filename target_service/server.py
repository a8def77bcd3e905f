"""The target over HTTP: ``/work`` queues for a pod, ``/state`` ``/metrics`` ``/readyz`` tell, ``/control``
alters, ``/scale`` orders pods."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import signal
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from domain.attempts import ATTEMPT_HEADER, REQUEST_ID_HEADER
from domain.errors import Fault
from domain.experiment_json import admission_to_json
from domain.observer import AttemptObserver, NullObserver
from target_service.answers import Answers
from target_service.collecting import collect_the_newest_only, collect_when_idle
from target_service.completions import Completions, Ticket
from target_service.headers import attempt_number, deadline_s
from target_service.listening import AcceptFaults, dropped_connections, listen, raise_descriptor_limit
from target_service.pods import Pods, SleepPods
from target_service.settings import Order, TargetSettings, most_pods, parse_order, parse_scale
from target_service.spin import SpinPods

State = Mapping[str, Any]
MetricsHandler = Callable[[State], tuple[str, bytes]]
"""Given the fields of ``/state``, the content type and the body of ``/metrics``."""

MAX_BODY = 1 << 16
"""Largest body ``/work`` takes: it is never read, and one that fills the buffers would hide a hang-up."""
_MAX_CONTROL_BODY = 1 << 16
_CLOSING_TURNS = 5


class Target:
    """The service: its pods, its counts and its HTTP handlers, on the running loop."""

    def __init__(
        self, settings: TargetSettings, observer: AttemptObserver, metrics: MetricsHandler | None
    ) -> None:
        self._settings = settings
        self._most = most_pods(settings.mode)
        self._observer = observer
        self._metrics = metrics
        self._loop = asyncio.get_running_loop()
        self._admission = settings.admission
        self._answers = Answers(settings.admission.retry_after_s)
        self._completions = Completions(observer, self._loop.time)
        kind = SpinPods if settings.mode == "spin" else SleepPods
        self._pods: Pods = kind(settings, self._completions.deliver, self._loop)
        self._accept_faults = AcceptFaults()
        self._loop.set_exception_handler(self._accept_faults)
        self._closed = False
        self._admission_json = admission_to_json(settings.admission)
        self.listen_drops: Callable[[], int | None] = lambda: None

    def application(self) -> web.Application:
        """The routes."""
        app = web.Application(client_max_size=_MAX_CONTROL_BODY)
        app.router.add_route("*", "/work", self._work)
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/state", self._state)
        app.router.add_get("/metrics", self._metrics_page)
        app.router.add_put("/control", self._control)
        app.router.add_delete("/control", self._cancel_orders)
        app.router.add_get("/scale", self._scale)
        app.router.add_put("/scale", self._set_scale)
        return app

    def state(self) -> dict[str, Any]:
        """The fields of ``/state``; ``capacity_per_s`` is what the fleet gives now: 0 in an outage, less
        than nominal where the service degrades."""
        queue = self._pods.state()
        done = self._completions
        return {
            **queue._asdict(),
            "capacity_per_s": queue.pods * queue.rate_per_pod * queue.capacity_factor * queue.rate_share,
            "pending_orders": self._pods.schedule.pending,
            "abandoned": done.abandoned,
            "abandoned_s": done.abandoned_s,
            "clock_lag_p50_s": done.lag.quantile_s(0.5),
            "clock_lag_p99_s": done.lag.quantile_s(0.99),
            "clock_lag_max_s": done.lag.max_s,
            "refused_sockets": self._accept_faults.count,
            "listen_drops": self.listen_drops(),
            "discipline": self._admission.discipline,
            "admission": self._admission_json,
            "routing": self._settings.routing,
            "dead_time_s": self._settings.dead_time_s,
            "mode": self._settings.mode,
            "seed": self._settings.seed,
            "now_monotonic_s": self._loop.time(),
        }

    def scale(self) -> dict[str, Any]:
        """The fields of ``/scale``; see ``docs/run-directory.md``."""
        queue = self._pods.state()
        now_s = self._loop.time()
        starting = self._pods.schedule.starting()
        return {
            "replicas": queue.replicas,
            "ready": queue.pods,
            "starting": [{"pods": pods, "ready_in_s": max(0.0, at_s - now_s)} for at_s, pods in starting],
            "draining": queue.draining,
            "dead_time_s": self._settings.dead_time_s,
        }

    def in_system(self) -> int:
        """Requests that wait or are in service now."""
        queue = self._pods.state()
        return queue.queue_depth + queue.in_service

    def left(self) -> int:
        """Requests that have left so far, served or not."""
        return self._pods.state().arrived - self.in_system()

    def close(self) -> None:
        """Give up on whatever is queued: its handlers are cancelled."""
        self._closed = True
        for ticket in self._pods.close():
            ticket.done.cancel()

    async def _work(self, request: web.Request) -> web.Response:
        length = request.content_length
        if length is not None and length > MAX_BODY:
            raise web.HTTPRequestEntityTooLarge(MAX_BODY, length)
        headers = request.headers
        attempt = attempt_number(headers.get(ATTEMPT_HEADER))
        arrived_s = self._loop.time()
        ticket = Ticket(request, self._loop.create_future(), attempt, arrived_s)
        if self._admission.drop_expired:
            ticket.deadline_s = deadline_s(headers, arrived_s)
        self._observer.started(attempt)
        if self._closed:
            ticket.done.cancel()
        else:
            self._pods.submit(ticket)
        try:
            fate, reason = await ticket.done
        except asyncio.CancelledError:
            # The client has gone, if handlers are told of that at all; or everything is being closed.
            if not self._closed:
                self._pods.cancel(ticket)
            raise
        request_id = headers.get(REQUEST_ID_HEADER)
        # What is not printable (bytes that are not UTF-8, say) cannot be written back as a header.
        echoed = {REQUEST_ID_HEADER: request_id} if request_id and request_id.isprintable() else None
        return self._answers.answer(fate, reason, echoed)

    async def _healthz(self, _request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, _request: web.Request) -> web.Response:
        queue = self._pods.state()
        if self._closed or queue.pods < 1 or queue.capacity_factor <= 0:
            return web.Response(text="not ready\n", status=503)
        return web.Response(text="ready\n")

    async def _state(self, _request: web.Request) -> web.Response:
        return web.json_response(self.state())

    async def _metrics_page(self, _request: web.Request) -> web.Response:
        if self._metrics is None:
            raise web.HTTPNotFound
        content_type, body = self._metrics(self.state())
        return web.Response(body=body, headers={"Content-Type": content_type})

    async def _control(self, request: web.Request) -> web.Response:
        body = await _json(request, "control")
        order = body if isinstance(body, Fault) else parse_order(body, self._loop.time(), self._most)
        if not isinstance(order, Order):
            return _refusal(order)
        self._pods.order(order)
        return web.json_response({"at_monotonic_s": order.at_s, "now_monotonic_s": self._loop.time()})

    async def _cancel_orders(self, _request: web.Request) -> web.Response:
        self._pods.cancel_orders()
        return web.json_response({"pending_orders": self._pods.schedule.pending})

    async def _scale(self, _request: web.Request) -> web.Response:
        return web.json_response(self.scale())

    async def _set_scale(self, request: web.Request) -> web.Response:
        body = await _json(request, "scale")
        replicas = body if isinstance(body, Fault) else parse_scale(body, self._most)
        if not isinstance(replicas, int):
            return _refusal(replicas)
        self._pods.scale(replicas)
        return web.json_response(self.scale())


async def _json(request: web.Request, name: str) -> object:
    """The body, or the ``Fault`` that it is not JSON."""
    raw = await request.read()
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return Fault(name, "must be JSON", raw[:200].decode("utf-8", "replace"))


def _refusal(faults: Fault | list[Fault]) -> web.Response:
    faults = [faults] if isinstance(faults, Fault) else faults
    listed = [{"field": f.field, "rule": f.rule, "value": f.value} for f in faults]
    # NaN and Infinity, which Python's reader takes, are not JSON: such values go back as text.
    return web.json_response({"faults": json.loads(json.dumps(listed), parse_constant=str)}, status=400)


async def serve(
    settings: TargetSettings,
    *,
    stop: asyncio.Event,
    ready: Callable[[str, int], None] = lambda _host, _port: None,
    observer: AttemptObserver | None = None,
    metrics: MetricsHandler | None = None,
    own_process: bool = False,
) -> None:
    """Serve until ``stop`` is set; ``ready(host, port)`` is called once the port answers.

    In a process of its own it looks after the garbage, as ``collecting`` says.

    Raises ConfigurationError if the address cannot be bound. What is queued at the end is dropped.
    """
    raise_descriptor_limit()
    target = Target(settings, observer or NullObserver(), metrics)
    runner = web.AppRunner(
        target.application(),
        access_log=None,
        # Work goes on when the client hangs up: that is what the project is about, and what waiting
        # attempts may be spared.
        handler_cancellation=settings.admission.cancel_on_disconnect,
        tcp_keepalive=False,
        logger=_http_log(),
        shutdown_timeout=0.2,
    )
    collecting: asyncio.Task[None] | None = None
    await runner.setup()
    try:
        listener = await listen(runner, settings.host, settings.port, settings.backlog)
        target.listen_drops = lambda: dropped_connections(listener)
        host, port = listener.getsockname()[:2]
        ready(host, port)
        if own_process:
            collecting = asyncio.create_task(collect_when_idle(target.in_system, target.left))
        await stop.wait()
    finally:
        if collecting is not None:
            collecting.cancel()
        for site in list(runner.sites):
            await site.stop()
        target.close()
        # Cancelled handlers need a few turns to end; what has ended then costs the cleanup nothing.
        for _ in range(_CLOSING_TURNS):
            await asyncio.sleep(0)
        await runner.cleanup()


def run_target(
    settings: TargetSettings,
    *,
    ready: Callable[[str, int], None] = lambda _host, _port: None,
    observer: AttemptObserver | None = None,
    metrics: MetricsHandler | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, in a process of its own."""

    async def main() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        collect_the_newest_only()
        await serve(settings, stop=stop, ready=ready, observer=observer, metrics=metrics, own_process=True)
        gc.freeze()  # the process ends: nothing is gained by collecting a dropped queue

    asyncio.run(main())


class _OwnFaults(logging.Filter):
    """Keeps what is wrong with the target, drops what is wrong with a client's HTTP."""

    def filter(self, record: logging.LogRecord) -> bool:
        cause = record.exc_info[1] if record.exc_info else None
        return not isinstance(cause, HttpProcessingError | ConnectionError)


def _http_log() -> logging.Logger:
    logger = logging.getLogger("tipover.target.http")
    if not logger.filters:
        logger.addFilter(_OwnFaults())
    return logger
