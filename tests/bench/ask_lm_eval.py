"""Ask a server the generated questions of bench_battery.py with lm-evaluation-harness; run by the Python that has it.

    python ask_lm_eval.py QUESTIONS.json      prints {"seconds": …, "answers": […]} as its last line

Its API models score choices by the log-probabilities of the prompt, which llama.cpp's server does not give; so it is
asked for generated answers only, straight through its model class, without its tasks and metrics.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.models.api_models import JsonChatStr
from lm_eval.models.openai_completions import LocalChatCompletion


def ask(model: LocalChatCompletion, questions: list[dict[str, Any]]) -> list[str]:
    requests = [
        Instance(
            request_type="generate_until",
            doc={},
            arguments=(
                JsonChatStr(json.dumps(each["messages"])),
                {"max_gen_toks": each["max_tokens"], "until": [], "temperature": 0.0},
            ),
            idx=number,
        )
        for number, each in enumerate(questions)
    ]
    return list(model.generate_until(requests, disable_tqdm=True))


def main() -> None:
    told = json.loads(Path(sys.argv[1]).read_text())
    os.environ["OPENAI_API_KEY"] = told["key"]
    model = LocalChatCompletion(
        base_url=f"{told['url']}/v1/chat/completions",
        model="m",
        num_concurrent=told["in_flight"],
        tokenizer_backend=None,
        eos_string="<|im_end|>",
    )
    ask(model, told["questions"][:1])
    started = time.perf_counter()
    answers = ask(model, told["questions"])
    print(json.dumps({"seconds": time.perf_counter() - started, "answers": answers}))


if __name__ == "__main__":
    main()
