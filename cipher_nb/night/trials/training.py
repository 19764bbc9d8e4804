"""One training of a study, and the answers of what came of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from cipher_nb.adapters.serving import spec_of
from cipher_nb.battery import runner
from cipher_nb.battery.results import Results
from cipher_nb.battery.samples import Sample
from cipher_nb.config import TrainingSettings
from cipher_nb.engine.steady import steady_serving
from cipher_nb.night.coderun import code_runner
from cipher_nb.night.measure import header_for
from cipher_nb.night.trials.study import Study
from cipher_nb.training.data.pairs import Pair
from cipher_nb.training.export import Exported, export_adapter
from cipher_nb.training.qlora.loop import Step
from cipher_nb.training.qlora.train import Trained, train


@dataclass(frozen=True)
class Made:
    """A trained adapter, exported but not registered."""

    trained: Trained
    exported: Exported


@contextmanager
def made(
    study: Study,
    pairs: Sequence[Pair],
    *,
    settings: TrainingSettings,
    on_step: Callable[[Step], None] | None = None,
) -> Iterator[Made]:
    """Train and export an adapter for the length of a `with` block; nothing of it stays. Raises TrainingError."""
    scratch = study.folder / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        trained = train(
            pairs, checkpoint=study.parts.checkpoint(), settings=settings, out=scratch / "adapter", on_step=on_step
        )
        exported = export_adapter(scratch / "adapter", base_gguf=study.parts.model(), out_dir=scratch)
        yield Made(trained, exported)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def answers(
    study: Study, made: Made, samples: Sequence[Sample], *, on_progress: Callable[[int, int], None] | None = None
) -> Results:
    """Return the adapter's answers to `samples`, asked on servers of their own and not kept on record."""
    parts, exported = study.parts, made.exported
    log = study.folder / "engine.log"
    spec = spec_of(parts.paths, parts.config, model=parts.model(), adapters=[exported.path], log=log)
    with steady_serving(spec) as model:
        model.serve(exported.id)
        return runner.run(
            samples,
            model=model,
            path=exported.path.with_suffix(".jsonl"),
            header=header_for(parts, exported.id),
            workers=model.workers,
            run_code=code_runner(parts.config.sandbox),
            on_progress=on_progress,
        )
