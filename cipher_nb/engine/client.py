"""The client of llama.cpp's HTTP server: ask, tokenize, and say which adapter answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePath
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from cipher_nb.engine.stream import read_answer
from cipher_nb.engine.templates import Templates
from cipher_nb.errors import EngineError, EngineTimeoutError, NotOfferedError
from cipher_nb.model import Message, OnText, Reply

if TYPE_CHECKING:
    import httpx

KEPT_ALIVE_S = 4.0
"""How long an unused connection is kept: llama.cpp's server closes it after 5 s, maybe as the next request is sent."""


@dataclass(frozen=True)
class LoadedAdapter:
    """An adapter the server holds: its number there, its file, its scale and the id written into it."""

    number: int
    path: str
    scale: float
    name: str


@dataclass(frozen=True)
class Slot:
    """One of the requests a server answers at once. `task` is the server's number of the one it is on, or was on."""

    number: int
    busy: bool
    task: int


class Client:
    """A `Model` behind a llama.cpp server. Thread-safe; close it, or use it in a `with` block.

    Without `trust_caches` no question builds on what the server computed for an earlier one: where others use it too,
    its caches may be another adapter's. Every method raises EngineError when the server does not answer or answers
    with an error: EngineTimeoutError where it took too long, NotOfferedError where it has no such endpoint.
    """

    def __init__(self, url: str, *, api_key: str = "", timeout_s: float = 300.0, trust_caches: bool = True) -> None:
        import httpx  # 60 ms, which commands that ask no engine need not spend

        self.url = url.rstrip("/")
        self.templates = Templates(self.render)
        self.api_key = api_key
        self.trust_caches = trust_caches
        self.adapter = ""
        self.pinned: Mapping[str, Any] = {}
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        limits = httpx.Limits(max_connections=None, keepalive_expiry=KEPT_ALIVE_S)
        self._http = httpx.Client(
            base_url=self.url,
            headers=headers,
            timeout=timeout_s,
            limits=limits,
            trust_env=False,  # a proxy variable must never carry a prompt off this machine
            verify=self.url.startswith("https:"),  # loading the certificates takes 17 ms
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def chat(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int = 256,
        temperature: float = 0.0,
        seed: int = 0,
        schema: Mapping[str, Any] | None = None,
        on_text: OnText | None = None,
    ) -> Reply:
        """Return the model's answer; with `schema` the server's grammar admits only JSON of that JSON schema.

        With `on_text` the answer is streamed. What `on_text` raises closes the connection, so that the server stops.
        """
        body: dict[str, Any] = {
            "messages": [dict(message) for message in messages],
            "max_tokens": max_tokens,
            **_sampling(temperature, seed),
            **self.pinned,
        }
        if schema is not None:
            body["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": dict(schema)}}
        if on_text is not None:
            return self._stream("/v1/chat/completions", body, on_text)
        answer = self._post("/v1/chat/completions", body)
        try:
            choice, usage = answer["choices"][0], answer.get("usage", {})
            return Reply(
                text=choice["message"]["content"] or "",
                finish_reason=choice["finish_reason"],
                prompt_tokens=usage.get("prompt_tokens", 0),
                completion_tokens=usage.get("completion_tokens", 0),
            )
        except (KeyError, IndexError, TypeError) as error:
            raise EngineError(f"{self.url} answered a chat without an answer: {str(answer)[:200]}") from error

    def complete(self, prompt: str, *, max_tokens: int = 64, temperature: float = 0.0, seed: int = 0) -> str:
        """Return the raw continuation of `prompt`; no chat template is put around it."""
        body = {"prompt": prompt, "n_predict": max_tokens, **_sampling(temperature, seed), **self.pinned}
        return str(self._post("/completion", body)["content"])

    def next_token_logprobs(self, messages: Sequence[Message], *, top: int = 64) -> dict[str, float]:
        """Return the `top` likeliest first tokens of the answer with their natural-log probabilities."""
        found = self._likeliest(self.templates.prompt(messages), top)
        return {token["token"]: float(token["logprob"]) for token in found}

    def token_logprobs(self, prompt: Sequence[int], *, top: int = 64) -> dict[int, float]:
        """Return the `top` likeliest tokens after the tokens `prompt` with their natural-log probabilities."""
        return {int(token["id"]): float(token["logprob"]) for token in self._likeliest(list(prompt), top)}

    def _likeliest(self, prompt: str | list[int], top: int) -> list[dict[str, Any]]:
        body: dict[str, Any] = {"prompt": prompt, "n_predict": 1, "n_probs": top, "post_sampling_probs": False}
        body |= {**_sampling(0.0, 0), **self.pinned}
        answer = self._post("/completion", body)
        try:
            return list(answer["completion_probabilities"][0]["top_logprobs"])
        except (KeyError, IndexError, TypeError) as error:
            raise EngineError(f"{self.url} answered without probabilities: {str(answer)[:200]}") from error

    def render(self, messages: Sequence[Message]) -> str:
        """Return `messages` laid out by the model's own chat template, ready for the answer to begin."""
        return str(self._post("/apply-template", {"messages": [dict(message) for message in messages]})["prompt"])

    def tokenize(self, text: str) -> list[int]:
        """Return the token ids of `text`, special tokens parsed, none added."""
        body = {"content": text, "add_special": False, "parse_special": True}
        return [int(token) for token in self._post("/tokenize", body)["tokens"]]

    def adapters(self) -> list[LoadedAdapter]:
        """Return what the server itself says it holds, by its own numbering."""
        rows = self._call("GET", "/lora-adapters")
        return [
            LoadedAdapter(number=int(row["id"]), path=row["path"], scale=float(row["scale"]), name=_name(row))
            for row in rows
        ]

    def set_scales(self, scales: Mapping[int, float]) -> None:
        """Set adapter scales by number. The server zeroes what is not named and ignores unknown numbers: read back."""
        self._post("/lora-adapters", [{"id": number, "scale": scale} for number, scale in scales.items()])

    def pin(self, adapter: str, scales: Mapping[int, float]) -> None:
        """Let every question from now on name the scales it is answered with, by number: those of `adapter`.

        Then nothing that is applied meanwhile answers it, and the server empties a slot first that was last asked
        under other scales. `adapter` keeps the id, `pinned` what the body of each question says.
        """
        self.adapter = adapter
        lora = [{"id": number, "scale": scale} for number, scale in scales.items()]
        self.pinned = {"lora": lora} | ({} if self.trust_caches else {"cache_prompt": False}) if lora else {}

    def slots(self) -> list[Slot]:
        """Return the server's slots, one for each request it answers at once."""
        rows = self._call("GET", "/slots")
        return [Slot(int(row["id"]), bool(row["is_processing"]), int(row.get("id_task", -1))) for row in rows]

    def erase_slot(self, number: int) -> None:
        """Empty a slot's cache; the server waits until the slot is free."""
        self._post(f"/slots/{number}?action=erase", {})

    def erase_slots(self) -> int:
        """Empty every slot's cache and return how many slots there are."""
        slots = self.slots()
        for slot in slots:
            self.erase_slot(slot.number)
        return len(slots)

    def save_slot(self, name: str) -> None:
        """Write what the first slot holds into the file `name` of the server's save folder."""
        self._post("/slots/0?action=save", {"filename": name})

    def restore_slot(self, name: str) -> None:
        """Let the first slot hold exactly what `save_slot` wrote, nothing more."""
        self._post("/slots/0?action=restore", {"filename": name})

    def healthy(self) -> bool:
        """Tell whether the server answers and has its model loaded."""
        try:
            return bool(self._call("GET", "/health").get("status") == "ok")
        except EngineError:
            return False

    @contextmanager
    def bounded(self, seconds: float) -> Iterator[None]:
        """Wait at the most so many seconds for each answer, in this `with` block; so do other threads' questions."""
        before = self._http.timeout
        self._http.timeout = min(seconds, before.read or seconds)
        try:
            yield
        finally:
            self._http.timeout = before

    def _post(self, path: str, body: Any) -> Any:
        return self._call("POST", path, body)

    def _stream(self, path: str, body: Mapping[str, Any], on_text: OnText) -> Reply:
        streamed = {**body, "stream": True, "stream_options": {"include_usage": True}}
        with self._reaching(path), self._http.stream("POST", path, json=streamed) as response:
            if response.is_error:
                response.read()
                self._content(path, response)
            return read_answer(response.iter_bytes(), on_text, source=self.url)

    def _call(self, verb: str, path: str, body: Any = None) -> Any:
        with self._reaching(path):
            response = self._http.request(verb, path, json=body)
        return self._content(path, response)

    @contextmanager
    def _reaching(self, path: str) -> Iterator[None]:
        import httpx

        try:
            yield
        except httpx.TimeoutException as error:
            raise EngineTimeoutError(
                f"{self.url}{path} did not answer within {self._http.timeout.read:g} s; see: cipher-nb engine status, "
                "or raise [engine] request_timeout_s"
            ) from error
        except httpx.HTTPError as error:
            raise EngineError(f"{self.url} does not answer ({error}); see: cipher-nb engine status") from error

    def _content(self, path: str, response: httpx.Response) -> Any:
        try:
            answer = response.json()
        except ValueError as error:
            raise EngineError(f"{self.url}{path} answered {response.status_code} without JSON") from error
        if response.is_error:
            cause = answer.get("error", {}) if isinstance(answer, dict) else {}
            kind = NotOfferedError if response.status_code in (404, 501) else EngineError
            raise kind(f"{self.url}{path} answered {response.status_code}: {cause.get('message', answer)}")
        return answer


def _name(row: Mapping[str, Any]) -> str:
    """Return the id written into the adapter; where the server tells none, what its file is kept under."""
    path = PurePath(row["path"])
    kept = path.parent.name if path.name == "adapter.gguf" else path.stem
    return str(row.get("task_name") or kept)


def _sampling(temperature: float, seed: int) -> dict[str, Any]:
    """Return every field that decides what is sampled, so that no server default has a say."""
    return {
        "temperature": temperature,
        "seed": seed,
        "top_k": 40,
        "top_p": 0.95,
        "min_p": 0.05,
        "typical_p": 1.0,
        "repeat_penalty": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "mirostat": 0,
        "stream": False,
        "cache_prompt": True,
    }
