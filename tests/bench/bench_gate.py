"""What the gate says of real adapters: production against itself, one that was trained, one that was damaged.

    python tests/bench/bench_gate.py [--per-category 64] [--repeats 5] [--category NAME] [--noise 10] [--only-damaged]

The base is asked again and again and compared with itself; then an adapter is trained on the practice side of one
category and compared with the base; then noise is added to that adapter's weights. All on the embedded model, or the
GGUF that CIPHER_NB_TEST_GGUF names, with early stopping as at night.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path

from cipher_nb.battery.evidence.looks import plan
from cipher_nb.battery.families import practice
from cipher_nb.battery.gate import GateReport, compare
from cipher_nb.engine.models import fetch_model
from cipher_nb.engine.swap import BASE
from cipher_nb.night.comparing import Compared, Comparison
from cipher_nb.night.folder import NightFolder
from cipher_nb.night.idle import never
from cipher_nb.night.measure import night_servers
from cipher_nb.night.questions import questions
from cipher_nb.paths import user_cache
from cipher_nb.training.base.checkpoint import checkpoint_for
from cipher_nb.training.data.dataset import combine, replay_wanted
from cipher_nb.training.data.pairs import Pair
from cipher_nb.training.data.replay import general_prompts, replay_pairs
from cipher_nb.training.export import export_adapter
from cipher_nb.training.qlora.train import train
from cipher_nb.workspace import Workspace


def workspace(folder: Path, *, per_category: int) -> Workspace:
    ws = Workspace.init(folder)
    named = os.environ.get("CIPHER_NB_TEST_GGUF")
    model = Path(named) if named else fetch_model("smollm2-135m", cache=user_cache())
    ws.paths.config.write_text(f'[model]\nname = "{model}"\n[battery]\nper_category = {per_category}\n')
    return Workspace.open(folder)


def compared(ws: Workspace, candidate: str) -> tuple[GateReport, Compared]:
    """Compare `candidate` with the base, as a night does."""
    folder = NightFolder(ws.paths.nights / "bench")
    folder.path.mkdir(parents=True, exist_ok=True)
    asked = questions(ws.config, ws.paths)
    adapters = {"production": BASE, "candidate": candidate}
    with night_servers(ws.parts, [candidate]) as model:
        found = Comparison(ws.parts, folder, model, adapters, asked, never).run()
    looks = plan(max(asked.sizes.values()))
    return compare(found.production, found.candidate, plan=looks, sizes=asked.sizes), found


def trained(ws: Workspace, category: str, *, count: int = 96) -> str:
    """Train an adapter on the practice side of `category` with 30 % replay, take it in and return its id."""
    out = ws.paths.aide / "bench"
    seed = ws.config.battery.seed
    new = [Pair(each.messages, each.reference, source="practice") for each in practice(category, count, seed=seed)]
    with night_servers(ws.parts, []) as model:
        prompts = general_prompts(replay_wanted(count, share=0.3), seed=0)
        replay = replay_pairs(model, prompts, path=out / "replay.jsonl")
    dataset = combine(new, replay, share=0.3, seed=0, sealed_texts=())
    checkpoint = checkpoint_for(ws.model(), cache=user_cache())
    train(dataset.pairs, checkpoint=checkpoint, settings=ws.config.training, out=out / "adapter")
    exported = export_adapter(out / "adapter", base_gguf=ws.model(), out_dir=out)
    ws.registry.add(exported.id, exported.path, manifest={})
    return exported.id


def damaged(ws: Workspace, adapter: str, *, noise: float) -> str:
    """Take in a copy of an adapter with normal noise, of `noise` times each tensor's own spread, on its weights."""
    import numpy as np
    from gguf import GGUFReader

    name = f"{adapter[:6]}{round(1000 * noise):06d}"
    path = ws.paths.aide / "bench" / f"{name}.gguf"
    content = ws.registry.path(adapter).read_bytes()
    path.write_bytes(content.replace(adapter.encode(), name.encode(), 1))  # the server says it by this name
    random = np.random.default_rng(1)
    for tensor in GGUFReader(path, "r+").tensors:
        spread = float(np.std(tensor.data)) or 1.0
        tensor.data[:] = tensor.data + random.normal(0, noise * spread, tensor.data.shape).astype(tensor.data.dtype)
    ws.registry.add(name, path, manifest={})
    return name


def against_itself(ws: Workspace, repeats: int) -> None:
    """Ask the base once more than `repeats` times, each time on a new server, and compare every time with the first."""
    runs = []
    for _ in range(repeats + 1):
        shutil.rmtree(ws.paths.battery_results, ignore_errors=True)
        runs.append(ws.measure("base"))
    for number, again in enumerate(runs[1:], 1):
        show(f"production against itself, {number}", compare(runs[0], again))


def against_base(ws: Workspace, adapter: str, *, what: str) -> GateReport:
    report, found = compared(ws, adapter)
    show(what, report)
    print(f"  asked {found.spent['asked']} of {found.spent['planned']} samples in {found.spent['seconds']:.0f} s")
    print("  looks:", ", ".join(f"{look['n']} ({look['open']} open)" for look in found.spent["looks"]))
    return report


def show(what: str, report: GateReport) -> None:
    rows = report.evidence.categories
    changed = sum(row.gains + row.losses for row in rows) / max(1, sum(row.n for row in rows))
    composite, rule = report.rule.composite_delta or 0.0, "passed" if report.rule.passed else "failed"
    print(f"{what}: {report.verdict}, rule {rule}, composite {composite:+.3f}, {changed:.2%} of scores changed")


def rows(report: GateReport) -> None:
    for row in sorted(report.evidence.categories, key=lambda row: row.delta):
        print(f"  {row.category:18} n {row.n:4}  {row.delta:+.3f}  [{row.lower:+.3f}, {row.upper:+.3f}]  {row.word}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--per-category", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--category", default="command registry")
    parser.add_argument("--noise", type=float, nargs="*", default=[10.0])
    parser.add_argument("--only-damaged", action="store_true", help="train, but compare no more than what is damaged")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ws = workspace(Path(folder) / "ws", per_category=options.per_category)
        against_itself(ws, options.repeats)
        adapter = trained(ws, options.category)
        if not options.only_damaged:
            rows(against_base(ws, adapter, what=f"trained on the practice side of {options.category}"))
        for noise in options.noise:
            against_base(ws, damaged(ws, adapter, noise=noise), what=f"the same with {noise:g} of its spread as noise")


if __name__ == "__main__":
    main()
