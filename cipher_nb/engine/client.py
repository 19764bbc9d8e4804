"""The client of llama.cpp's HTTP server: ask, tokenize, and say which adapter answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from cipher_nb.engine.stream import read_answer
from cipher_nb.engine.templates import Templates
from cipher_nb.errors import EngineError
from cipher_nb.model import Message, OnText, Reply

if TYPE_CHECKING:
    import httpx


@dataclass(frozen=True)
class LoadedAdapter:
    """An adapter the server holds: its number there, its file, its scale and the id written into it."""

    number: int
    path: str
    scale: float
    name: str


class Client:
    """A `Model` behind a llama.cpp server. Thread-safe; close it, or use it in a `with` block.

    Every method raises EngineError when the server does not answer or answers with an error.
    """

    def __init__(self, url: str, *, api_key: str = "", timeout_s: float = 300.0) -> None:
        import httpx  # 60 ms, which commands that ask no engine need not spend

        self.url = url.rstrip("/")
        self.templates = Templates(self.render)
        self.api_key = api_key
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        limits = httpx.Limits(max_connections=None, keepalive_expiry=60.0)
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
        body = {"prompt": prompt, "n_predict": max_tokens, **_sampling(temperature, seed)}
        return str(self._post("/completion", body)["content"])

    def next_token_logprobs(self, messages: Sequence[Message], *, top: int = 64) -> dict[str, float]:
        """Return the `top` likeliest first tokens of the answer with their natural-log probabilities."""
        found = self._likeliest(self.templates.prompt(messages), top)
        return {token["token"]: float(token["logprob"]) for token in found}

    def token_logprobs(self, prompt: Sequence[int], *, top: int = 64) -> dict[int, float]:
        """Return the `top` likeliest tokens after the tokens `prompt` with their natural-log probabilities."""
        return {int(token["id"]): float(token["logprob"]) for token in self._likeliest(list(prompt), top)}

    def _likeliest(self, prompt: str | list[int], top: int) -> list[dict[str, Any]]:
        body = {"prompt": prompt, "n_predict": 1, "n_probs": top, "post_sampling_probs": False, **_sampling(0.0, 0)}
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
            LoadedAdapter(
                number=int(row["id"]), path=row["path"], scale=float(row["scale"]), name=row.get("task_name", "")
            )
            for row in rows
        ]

    def set_scales(self, scales: Mapping[int, float]) -> None:
        """Set adapter scales by number. The server zeroes what is not named and ignores unknown numbers: read back."""
        self._post("/lora-adapters", [{"id": number, "scale": scale} for number, scale in scales.items()])

    def erase_slots(self) -> int:
        """Empty every slot's cache and return how many slots there are."""
        slots = self._call("GET", "/slots")
        for slot in slots:
            self._post(f"/slots/{slot['id']}?action=erase", {})
        return len(slots)

    def save_slot(self, name: str) -> None:
        """Write what the first slot holds into the file `name` of the server's save folder."""
        self._post("/slots/0?action=save", {"filename": name})

    def restore_slot(self, name: str) -> None:
        """Let the first slot hold exactly what `save_slot` wrote, nothing more."""
        self._post("/slots/0?action=restore", {"filename": name})

    def slots(self) -> int:
        """Return how many requests the server answers at once."""
        return len(self._call("GET", "/slots"))

    def healthy(self) -> bool:
        """Tell whether the server answers and has its model loaded."""
        try:
            return bool(self._call("GET", "/health").get("status") == "ok")
        except EngineError:
            return False

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
            raise EngineError(f"{self.url}{path} did not answer in time; raise [engine] request_timeout_s") from error
        except httpx.HTTPError as error:
            raise EngineError(f"{self.url} does not answer ({error}); see: cipher-nb engine status") from error

    def _content(self, path: str, response: httpx.Response) -> Any:
        try:
            answer = response.json()
        except ValueError as error:
            raise EngineError(f"{self.url}{path} answered {response.status_code} without JSON") from error
        if response.is_error:
            cause = answer.get("error", {}) if isinstance(answer, dict) else {}
            raise EngineError(f"{self.url}{path} answered {response.status_code}: {cause.get('message', answer)}")
        return answer


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
