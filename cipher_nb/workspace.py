"""The workspace: one object that opens the parts on `.aide/` and hands them to each other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from cipher_nb.adapters import changelog as changelogs
from cipher_nb.adapters.changelog import Changelog
from cipher_nb.adapters.decisions import Action, Decision, Desk
from cipher_nb.adapters.lineage import Adapter, lineage
from cipher_nb.adapters.registry import Registry
from cipher_nb.adapters.serving import connect
from cipher_nb.battery.gate import GateReport
from cipher_nb.battery.results import Results
from cipher_nb.bus import Bus, Unwanted
from cipher_nb.chat import Answer, ask
from cipher_nb.config import TEMPLATE, Config, load_config
from cipher_nb.engine.client import Client
from cipher_nb.engine.models import find_model
from cipher_nb.erasure import Erased, erase
from cipher_nb.errors import NotFoundError
from cipher_nb.files import write_atomic
from cipher_nb.learned import Explained, LearnedLine, LearnedView
from cipher_nb.model import OnText
from cipher_nb.night.folder import NightFolder, list_nights, new_night, open_night, resumable
from cipher_nb.night.jobs import Job, bundled, load_job, with_parameters
from cipher_nb.night.judge import standing
from cipher_nb.night.measure import OnProgress, compared, measure_alone, results_of
from cipher_nb.night.night import Night
from cipher_nb.night.parts import Parts
from cipher_nb.night.run import NightOutcome, Page, Watch, run_night
from cipher_nb.paths import Paths, find_workspace, user_cache
from cipher_nb.records import Clock, utc_now
from cipher_nb.scaffold import Scaffold, compose_scaffold
from cipher_nb.tasks import Task, Tasks
from cipher_nb.transcripts import Transcripts

LEARNED_IN_CHAT = 10


@dataclass(frozen=True)
class Workspace:
    """A folder with an `.aide/`: its state bus, its scaffold, its tasks, its adapters and its nights."""

    paths: Paths
    config: Config
    clock: Clock = utc_now

    @classmethod
    def open(cls, where: str | Path = ".", *, clock: Clock = utc_now) -> Workspace:
        """Return the workspace at or above `where`; NotFoundError says how to make one."""
        root = find_workspace(Path(where))
        if root is None:
            raise NotFoundError(f"no .aide/ at or above {Path(where).resolve()}; make one with: cipher-nb init")
        paths = Paths(root)
        return cls(paths, load_config(paths.config), clock)

    @classmethod
    def init(cls, where: str | Path = ".", *, clock: Clock = utc_now) -> Workspace:
        """Make `.aide/` with a commented cipher.toml in `where` and return the workspace; what is there is kept."""
        paths = Paths(Path(where).resolve())
        paths.aide.mkdir(parents=True, exist_ok=True)
        if not paths.config.exists():
            write_atomic(paths.config, TEMPLATE)
        ignore = paths.aide / ".gitignore"
        if not ignore.exists():
            write_atomic(ignore, "*\n")
        return cls.open(paths.root, clock=clock)

    @cached_property
    def bus(self) -> Bus:
        return Bus(self.paths.bus, settings=self.config.bus, clock=self.clock)

    @cached_property
    def transcripts(self) -> Transcripts:
        return Transcripts(self.paths.transcripts)

    @cached_property
    def registry(self) -> Registry:
        return Registry(self.paths.adapters, clock=self.clock)

    @cached_property
    def tasks(self) -> Tasks:
        return Tasks(
            self.paths, settings=self.config.sandbox, bus=self.bus, transcripts=self.transcripts, clock=self.clock
        )

    def model(self) -> Path:
        """Return the GGUF file of the configured model; ModelError says how to fetch it."""
        return find_model(self.config.model.name, cache=user_cache())

    def learned(self, *, min_count: int = 3, limit: int = 15) -> list[LearnedLine]:
        """Return the pinned patterns and those that the operator approved often enough, best first."""
        return self._learned_view.lines(min_count=min_count, limit=limit)

    def explain(self, *, min_count: int = 3, limit: int = 15) -> list[Explained]:
        """Return every pattern that votes were cast on, with why `learned` returns it or does not."""
        return self._learned_view.explain(min_count=min_count, limit=limit)

    @cached_property
    def _learned_view(self) -> LearnedView:
        return LearnedView(self.bus, pins=self.config.scaffold.pins)

    def scaffold(self, *, tier: str | None = None) -> Scaffold:
        """Return the system text of the next prompt; costs what was added to the bus since the last call."""
        lines = self._learned_view.lines(limit=LEARNED_IN_CHAT)
        settings = replace(self.config.scaffold, tier=tier) if tier else self.config.scaffold
        return compose_scaffold(settings, [line.line for line in lines])

    @contextmanager
    def engine(self) -> Iterator[Client]:
        """Connect to the served engine, which is started when it does not run, on production."""
        with self._connect() as client:
            yield client

    def chat(self, text: str, *, task: str | None = None, on_text: OnText | None = None) -> Answer:
        """Ask the served model, with the scaffold in the system slot, and record the turn.

        `on_text` hears the answer as it comes; see `chat.ask` for what happens when it raises.
        """
        with self.engine() as client:
            return ask(
                text,
                model=client,
                scaffold=self.scaffold(),
                transcripts=self.transcripts,
                task=task,
                model_name=self.config.model.name,
                adapter=client.adapter,
                clock=self.clock,
                on_text=on_text,
            )

    def propose(
        self,
        intent: str,
        *,
        checks: Sequence[str] = (),
        files: Sequence[str] = (),
        task: str | None = None,
        on_progress: Callable[[str], None] | None = None,
    ) -> Task:
        """Let the served model propose a change, verified in a sandbox with up to three attempts."""
        with self.engine() as client:
            return self.tasks.propose(
                intent,
                model=client,
                scaffold=self.scaffold().text,
                checks=checks,
                files=files,
                model_name=self.config.model.name,
                adapter=client.adapter,
                task=task,
                on_progress=on_progress,
            )

    def purge(
        self,
        *,
        ids: Collection[str] = (),
        tasks: Collection[str] = (),
        before: datetime | None = None,
        everything: bool = False,
    ) -> Erased:
        """Remove events, turns, pairs and task records for good, and name what was made from them; see `erasure`."""
        unwanted = Unwanted.of(ids, tasks, before, everything=everything)
        return erase(
            unwanted,
            paths=self.paths,
            bus=self.bus,
            transcripts=self.transcripts,
            registry=self.registry,
            pins=self.config.scaffold.pins,
            clock=self.clock,
        )

    def lineage(self) -> list[Adapter]:
        """Return where every adapter comes from and what it takes up on the disk, newest first."""
        return lineage(self.registry, nights=self.paths.nights)

    def changelog(self) -> Changelog | None:
        """Return the newest changelog, answered or not, or None."""
        return changelogs.latest(self.paths.changelog)

    def decide(self, action: Action, ref: str = "", *, confirmed: bool = False, by: str = "library") -> Decision:
        """Apply or skip the changelog `ref` (ID@HASH), or roll back; see `adapters.decisions.Desk.decide`."""
        return self._desk.decide(action, ref, confirmed=confirmed, by=by)

    @cached_property
    def _desk(self) -> Desk:
        return Desk(paths=self.paths, registry=self.registry, bus=self.bus, connect=self._connect, clock=self.clock)

    def _connect(self) -> Client:
        model = None if self.config.engine.url else self.model()
        return connect(self.paths, self.config, self.registry, model=model, bus=self.bus)

    def night(self, run_id: str = "", *, stop_when_active: bool = False) -> Night:
        """Return the night `run_id`; "" takes up the one that died or was stopped, else begins a new one."""
        if run_id:
            folder = open_night(self.paths.nights, run_id)
        else:
            now = self.clock()
            folder = resumable(self.paths.nights, now) or new_night(self.paths.nights, now)
        return Night(self.parts, folder, stop_when_active)

    def measure(
        self, adapter: str = "production", *, per_category: int | None = None, on_progress: OnProgress | None = None
    ) -> Results:
        """Ask the battery of `adapter` (base, production, staged or an id); answers on record are not asked again."""
        parts = self.parts
        if per_category is not None:
            battery = replace(self.config.battery, per_category=per_category)
            parts = replace(parts, config=replace(self.config, battery=battery))
        return measure_alone(parts, self.registry.resolve(adapter), on_progress=on_progress)

    def results(self, name: str) -> Results:
        """Return battery results: a JSONL file, or what is on record for base, production, staged or an id."""
        return results_of(self.parts, name)

    def compare(self, baseline: str, candidate: str) -> GateReport:
        """Return what the gate says of two results, each named as `results` takes it."""
        return compared(self.parts, baseline, candidate)

    def check(self) -> list[str]:
        """Return what speaks against production (worse than the base) or the staged adapter (fails the rule)."""
        return standing(self.parts)

    def nights(self) -> list[NightFolder]:
        """Return all nights, newest first."""
        return list_nights(self.paths.nights)

    def run_night(
        self,
        *,
        page: Page,
        job: Path | None = None,
        when_idle: timedelta | None = None,
        parameters: dict[str, Any] | None = None,
        on_watch: Watch | None = None,
    ) -> NightOutcome:
        """Run the nightly job, or the one in `job`, with `parameters` put into its notebooks."""
        loaded = with_parameters(self.job(job), parameters or {})
        return run_night(self.parts, loaded, page=page, when_idle=when_idle, on_watch=on_watch)

    def job(self, path: Path | None = None) -> Job:
        """Return the job in `path`, or the nightly one that comes with the package."""
        return load_job(path or bundled("papermill_jobs/nightly.toml"))

    @property
    def parts(self) -> Parts:
        """Return the parts as a night takes them."""
        return Parts(
            paths=self.paths,
            config=self.config,
            bus=self.bus,
            transcripts=self.transcripts,
            registry=self.registry,
            model=self.model,
            cache=user_cache(),
            clock=self.clock,
        )
