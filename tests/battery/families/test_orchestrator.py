import re
from itertools import permutations

from cipher_nb.battery.families.orchestrator import CATEGORY, FAMILIES, waves
from cipher_nb.battery.samples import Sample


def samples(name: str) -> list[Sample]:
    family = next(family for family in FAMILIES if family.name == name)
    return [s for side in ("sealed", "practice") for s in family.samples(CATEGORY, 150, side=side, seed=5)]


def graph(text: str) -> dict[str, set[str]]:
    lines = re.findall(r"^(\w+) needs ([\w, ]+)$", text, re.MULTILINE)
    return {task: set(needed.split(", ")) - {"nothing"} for task, needed in lines}


def test_waves_start_each_task_as_early_as_possible():
    needs = {"d": {"b", "c"}, "b": {"a"}, "c": set(), "a": set()}
    assert waves({task: frozenset(found) for task, found in needs.items()}) == [["c", "a"], ["b"], ["d"]]


def test_only_the_answer_is_unfinished_and_has_all_it_needs():
    for sample in samples("ready"):
        needs = graph(sample.user_text)
        told = sample.user_text.splitlines()[-1]
        done = set(re.findall(r"\w+", told.split(".")[0]))
        assert [task for task in needs if task not in done and needs[task] <= done] == [sample.target]


def test_no_other_order_of_the_tasks_is_possible():
    for sample in samples("order"):
        pairs = re.findall(r"^(\w+) before (\w+)$", sample.user_text, re.MULTILINE)
        tasks = {task for pair in pairs for task in pair}
        possible = [
            order for order in permutations(tasks) if all(order.index(one) < order.index(then) for one, then in pairs)
        ]
        assert possible == [tuple(sample.reference.split(", "))]


def test_the_count_of_waves_is_the_longest_chain():
    def depth(needs: dict[str, set[str]], task: str) -> int:
        return 1 + max((depth(needs, other) for other in needs[task]), default=0)

    for sample in samples("waves"):
        needs = graph(sample.user_text)
        assert int(sample.target) == max(depth(needs, task) for task in needs)


def test_the_worker_is_the_free_one_with_the_device_and_the_shortest_queue():
    for sample in samples("assign"):
        *lines, job = sample.user_text.splitlines()
        device = re.findall(r"gpu|cpu|cuda|host", job)[0]
        workers = [re.findall(r"\w+", line) for line in lines]
        able = [
            (int(re.findall(r"\d+", line)[0]), found[0])
            for line, found in zip(lines, workers, strict=True)
            if device in found and {"idle", "free"} & set(found)
        ]
        assert min(able)[1] == sample.target
        assert [queue for queue, _ in able].count(min(able)[0]) == 1
