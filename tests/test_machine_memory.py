import psutil
import pytest

from cipher_nb.machine_memory import free_memory, whole_memory

MB = 1_000_000


@pytest.fixture
def group(tmp_path):
    """Return a function that writes the files of a control group."""

    def write(folder, **files):
        home = tmp_path / "cgroups" / folder
        home.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (home / name.replace("__", ".")).write_text(f"{text}\n")

    return write


def free(tmp_path, own):
    (tmp_path / "own").write_text(own)
    return free_memory(cgroups=tmp_path / "cgroups", own=tmp_path / "own")


def available():
    return psutil.virtual_memory().available


def whole(tmp_path):
    return whole_memory(cgroups=tmp_path / "cgroups", own=tmp_path / "own")


def test_without_a_limit_it_is_what_the_machine_has(tmp_path):
    before, free_now, after = available(), free(tmp_path, "0::/\n"), available()
    assert 0.8 * min(before, after) < free_now < 1.2 * max(before, after)
    assert whole(tmp_path) == psutil.virtual_memory().total


def test_a_containers_limit_counts_with_cached_files_as_free(tmp_path, group):
    group("", memory__max=300 * MB, memory__current=250 * MB, memory__stat=f"anon 1\ninactive_file {20 * MB}")
    assert free(tmp_path, "0::/\n") == 70 * MB


def test_the_least_of_all_the_groups_around_it_counts(tmp_path, group):
    stat = "inactive_file 0"
    group("slice", memory__max=200 * MB, memory__current=150 * MB, memory__stat=stat)
    group("slice/night.service", memory__max="max", memory__current=90 * MB, memory__stat=stat)
    assert free(tmp_path, "0::/slice/night.service\n") == 50 * MB
    assert whole(tmp_path) == 200 * MB


def test_the_older_kind_of_groups_counts_also_where_only_the_last_is_seen(tmp_path, group):
    group(
        "memory",
        memory__limit_in_bytes=90 * MB,
        memory__usage_in_bytes=60 * MB,
        memory__stat="total_inactive_file 0",
    )
    assert free(tmp_path, "5:cpu:/other\n4:memory:/docker/4f1c\n0::/\n") == 30 * MB


def test_a_group_over_its_limit_leaves_nothing(tmp_path, group):
    group("", memory__max=10 * MB, memory__current=12 * MB, memory__stat="inactive_file 0")
    assert free(tmp_path, "0::/\n") == 0
