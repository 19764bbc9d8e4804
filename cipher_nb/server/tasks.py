"""The endpoints on tasks: those on record, and the operator's decision on one, by the same functions as everywhere."""

from __future__ import annotations

from typing import Any

import orjson
from jupyter_server.auth.decorator import authorized
from tornado import web

from cipher_nb.server import query
from cipher_nb.server.handlers import MAX_EVENT_BYTES, CipherHandler
from cipher_nb.server.query import Query
from cipher_nb.tasks import Task
from cipher_nb.workspace import Workspace

LEFT_OUT = ("diff", "proposal", "base_hashes")
"""What a list of tasks does not hold: it is asked for task by task."""


class TasksHandler(CipherHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        asked = self.query
        self.finish(await self.work("read", lambda ws: orjson.dumps(_newest(ws, asked))))


class TaskHandler(CipherHandler):
    @web.authenticated
    @authorized
    async def get(self, task: str) -> None:
        asked = self.query
        self.finish(await self.work("read", lambda ws: orjson.dumps(_one(ws, asked, task))))


class DecisionHandler(CipherHandler):
    """Carries one decision out; `required` and `optional` name the texts that its body holds."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    def decide(self, ws: Workspace, task: str, said: dict[str, str]) -> Task:
        raise NotImplementedError

    @web.authenticated
    @authorized
    async def post(self, task: str) -> None:
        sent, asked = self.body(max_bytes=MAX_EVENT_BYTES), self.query

        def carry_out(ws: Workspace) -> Task:
            query.no_parameters(asked)
            return self.decide(ws, task, query.texts(sent, required=self.required, optional=self.optional))

        self.finish(orjson.dumps(_record(await self.work("task", carry_out))))


class ApproveHandler(DecisionHandler):
    optional = ("pattern",)

    def decide(self, ws: Workspace, task: str, said: dict[str, str]) -> Task:
        return ws.tasks.approve(task, **said)


class RejectHandler(DecisionHandler):
    required, optional = ("reason",), ("pattern",)

    def decide(self, ws: Workspace, task: str, said: dict[str, str]) -> Task:
        return ws.tasks.reject(task, **said)


class ShipHandler(DecisionHandler):
    def decide(self, ws: Workspace, task: str, said: dict[str, str]) -> Task:
        return ws.tasks.ship(task)


class UndoHandler(DecisionHandler):
    def decide(self, ws: Workspace, task: str, said: dict[str, str]) -> Task:
        return ws.tasks.undo(task)


def _newest(ws: Workspace, asked: Query) -> list[dict[str, Any]]:
    limit = query.tasks_limit(asked)
    records = (_record(task) for task in ws.tasks.list()[:limit])
    return [{name: value for name, value in record.items() if name not in LEFT_OUT} for record in records]


def _one(ws: Workspace, asked: Query, task: str) -> dict[str, Any]:
    query.no_parameters(asked)
    return _record(ws.tasks.get(task))


def _record(task: Task) -> dict[str, Any]:
    return task.to_json() | {"task": task.id}


TASK = "/api/cipher/tasks/(?P<task>[^/]+)"
TASK_HANDLERS = (
    ("/api/cipher/tasks", TasksHandler),
    (TASK, TaskHandler),
    (f"{TASK}/approve", ApproveHandler),
    (f"{TASK}/reject", RejectHandler),
    (f"{TASK}/ship", ShipHandler),
    (f"{TASK}/undo", UndoHandler),
)
