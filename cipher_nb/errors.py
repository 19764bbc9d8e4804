"""Every error this package raises on purpose.

    CipherError
    ├── ConfigError            cipher.toml, a job file or a parameter is wrong
    ├── NotFoundError          a workspace, task, night or adapter that does not exist
    ├── RequestError           what an HTTP client asked for is wrong
    ├── ModelError             no usable model file
    │   └── ModelFetchError    the model could not be fetched
    ├── EngineError            the model server gave no answer
    │   ├── EngineStartError   it did not start
    │   │   └── BrokenProductionError   for the adapter in production cannot be loaded
    │   ├── EngineTimeoutError      it took too long
    │   ├── NotOfferedError    it has no such endpoint
    │   └── SwapError          it does not serve what it was told to serve
    ├── SandboxError           a proposal could not be tried
    │   ├── ProposalError      the proposal is not one (bad JSON, bad edit, no match)
    │   ├── UnsafePathError    an edit points outside the workspace
    │   └── ConflictError      a file changed between the check and the approval
    ├── TrainingError          training or its data is unusable
    │   ├── ExportError        the adapter cannot be written as GGUF
    │   └── IncompatibleAdapterError   adapter and base do not fit
    ├── BatteryError           results could not be had or compared
    ├── NightError             the night could not run
    │   ├── NightBusyError     another night holds the lock
    │   └── NightStoppedError  the operator came back; the next night goes on from here
    ├── RegistryError          the registry or an adapter's files are damaged, or could not be written
    └── DecisionError          apply, skip or rollback names something that is not pending

A negative outcome (checks failed, the gate says no, not idle) is a value, never one of these.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the way out for an unknown name: the nearest known one as a question, else all of them."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {near[0]}?" if near else f"known: {', '.join(names)}"


class CipherError(Exception):
    """Base of all errors of this package; its text is one line that names the thing, the value and the way out."""


class ConfigError(CipherError, ValueError):
    """A setting, job file or parameter is unknown, of the wrong type or out of range."""


class NotFoundError(CipherError, LookupError):
    """The named workspace, task, night or adapter does not exist."""


class RequestError(CipherError, ValueError):
    """A query, header or body that an HTTP client sent is not what the endpoint takes."""


class ModelError(CipherError):
    """No usable model file stands behind the configured name."""


class ModelFetchError(ModelError):
    """The model could not be fetched, or what came is not the model."""


class EngineError(CipherError, ConnectionError):
    """The model server could not be asked, or its reply is not one."""


class EngineStartError(EngineError):
    """The model server did not start; the text ends with the cause from its log."""


class BrokenProductionError(EngineStartError):
    """The adapter in production cannot be loaded, so nothing may be served until the operator rolls it back."""


class EngineTimeoutError(EngineError):
    """The model server did not answer in the time it was given."""


class NotOfferedError(EngineError):
    """The model server lacks the endpoint, or was started without what it needs."""


class SwapError(EngineError):
    """The server does not serve the adapter it was told to serve."""


class SandboxError(CipherError):
    """A proposal could not be tried or applied."""


class ProposalError(SandboxError, ValueError):
    """The text is no proposal, or one of its edits cannot be carried out."""


class UnsafePathError(SandboxError, ValueError):
    """A path leaves the workspace, or enters a place that no edit may touch."""


class ConflictError(SandboxError):
    """A file changed between verification and approval."""


class TrainingError(CipherError):
    """There is nothing to train on, or training did not produce a usable adapter."""


class ExportError(TrainingError):
    """The adapter uses something that GGUF cannot hold."""


class IncompatibleAdapterError(TrainingError):
    """Adapter and base do not fit; the text names both numbers."""


class BatteryError(CipherError):
    """Samples or results are unreadable, or two results cannot be compared."""


class NightError(CipherError):
    """The night, or one of its stages, could not run."""


class NightBusyError(NightError):
    """Another night holds the workspace's lock."""


class NightStoppedError(NightError):
    """The operator came back during a night; finished stages are kept and the next night goes on from there."""


class RegistryError(CipherError):
    """The registry of adapters, or the files of one, are not as they were written, or could not be written."""


class DecisionError(CipherError):
    """The decision names a changelog or an adapter that is not pending."""
