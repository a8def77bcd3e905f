"""A target on a real socket, and the smallest HTTP client that can be rude to it."""

import asyncio
import contextlib
import json
from dataclasses import dataclass

import pytest

from target_service.server import serve
from target_service.settings import TargetSettings


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


async def read_reply(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Reply(int(head[0].split()[1]), headers, body)


def request_bytes(method, path, body=b"", **headers):
    lines = [f"{method} {path} HTTP/1.1", "Host: target", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Running:
    """What a test does with a running target."""

    def __init__(self, port, stop, task):
        self.port, self.stop, self.task = port, stop, task

    async def connect(self):
        return await asyncio.open_connection("127.0.0.1", self.port)

    @contextlib.asynccontextmanager
    async def connection(self):
        reader, writer = await self.connect()
        try:
            yield reader, writer
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def raw(self, data):
        async with self.connection() as (reader, writer):
            writer.write(data)
            return await read_reply(reader)

    async def ask(self, method, path, body=b"", **headers):
        return await self.raw(request_bytes(method, path, body, **headers))

    async def control(self, **order):
        return await self.ask("PUT", "/control", json.dumps(order).encode())

    async def state(self):
        return (await self.ask("GET", "/state")).json

    async def until(self, condition):
        """The first state that meets the condition, however long a busy machine takes (a minute at most)."""
        async with asyncio.timeout(60):
            while not condition(state := await self.state()):
                await asyncio.sleep(0.01)
        return state

    async def hang_up_after_sending(self, count, first=0):
        """Send requests on connections of their own, and close each once the target has it."""
        for number in range(first, first + count):
            async with self.connection() as (_, writer):
                writer.write(request_bytes("GET", "/work", X_Request_Id=number))
                await writer.drain()
                await self.until(lambda state: state["arrived"] > number)  # noqa: B023


@contextlib.asynccontextmanager
async def running(observer=None, metrics=None, **settings):
    stop = asyncio.Event()
    ready = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(
        serve(
            TargetSettings(**settings),
            stop=stop,
            ready=lambda host, port: ready.set_result(port),
            observer=observer,
            metrics=metrics,
        )
    )
    await asyncio.wait({task, ready}, return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        await task
    try:
        yield Running(ready.result(), stop, task)
    finally:
        stop.set()
        await asyncio.wait_for(task, 30)


@pytest.fixture
def target():
    return running


@pytest.fixture
def reply_from():
    return read_reply


@pytest.fixture
def request_for():
    return request_bytes
