from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cipher_nb.errors import SandboxError
from cipher_nb.sandbox.scratch import in_use, list_files, make_copy, manifest
from cipher_nb.sandbox.scratch.copies import manifest_path
from cipher_nb.sandbox.scratch.links import link_text
from cipher_nb.sandbox.scratch.listing import survey
from cipher_nb.sandbox.scratch.repair import Repair
from tests.sandbox.conftest import BROKEN, git, make_project

LONG_AGO_NS = 1_600_000_000_123_456_789


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


def inodes(copy):
    return {name: (copy / name).lstat().st_ino for name in names(copy)}


def run_without_override(code: str, *arguments: object) -> str:
    """Run Python that may not open what its permissions forbid, also where the tests run as root."""
    as_somebody = ["unshare", "--user", "--map-user=1000", "--map-group=1000"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*as_somebody, sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_copy_holds_what_git_tracks_and_what_is_new_but_not_ignored(project):
    (project / "new file.py").write_text("n")
    (project / "debug.log").write_text("ignored")
    (project / ".aide").mkdir()
    (project / ".aide/secret").write_text("s")
    (project / "notes.txt").unlink()
    copy = project / ".aide/sandboxes/t1"
    assert make_copy(project, copy).from_git is True
    assert names(copy) == [".gitignore", "calc.py", "new file.py", "pytest.ini", "test_calc.py"]


def test_aide_stays_out_even_where_git_does_not_ignore_it(project):
    (project / ".gitignore").write_text("")
    (project / ".aide").mkdir()
    (project / ".aide/secret").write_text("s")
    assert not [path for path in list_files(project).paths if ".aide" in path]


def test_without_a_repository_everything_is_copied_and_the_listing_says_so(tmp_path):
    root = tmp_path / "plain"
    (root / "sub/.git").mkdir(parents=True)
    (root / "sub/.git/config").write_text("g")
    (root / "sub/a.log").write_text("a")
    (root / "link").symlink_to("sub")
    listing = make_copy(root, root / ".aide/sandboxes/t1")
    assert listing.from_git is False
    assert listing.paths == ("link", "sub/a.log")


def test_without_git_installed_everything_is_copied(project, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert list_files(project).from_git is False
    assert "calc.py" in list_files(project).paths


def test_a_workspace_in_a_subfolder_copies_only_that_folder(project):
    (project / "part").mkdir()
    (project / "part/p.py").write_text("p")
    assert list_files(project / "part").paths == ("p.py",)


def test_a_submodule_is_copied_as_its_files_and_one_not_checked_out_is_named(project, tmp_path):
    library = make_project(tmp_path / "library")
    git(project, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "vendor/lib")
    git(project, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "vendor/absent")
    git(project, "commit", "--quiet", "--message=submodules")
    git(project, "submodule", "--quiet", "deinit", "--force", "vendor/absent")
    (project / "vendor/lib/debug.log").write_text("ignored there")
    listing = make_copy(project, project / ".aide/sandboxes/t1")
    assert "vendor/lib/calc.py" in listing.paths
    assert [path for path in names(project / ".aide/sandboxes/t1/vendor") if "log" in path or ".git/" in path] == []
    assert listing.left_out == ("vendor/absent",)


def test_a_repository_inside_that_git_knows_nothing_of_is_copied_as_its_files(project):
    make_project(project / "inner")
    assert "inner/calc.py" in make_copy(project, project / ".aide/sandboxes/t1").paths
    assert not (project / ".aide/sandboxes/t1/inner/.git").exists()


def test_modes_times_and_empty_files_are_kept(project):
    (project / "tools").mkdir(mode=0o750)
    script = project / "tools/run.sh"
    script.touch()
    script.chmod(0o741)
    os.utime(script, ns=(LONG_AGO_NS, LONG_AGO_NS))
    copy = project / ".aide/sandboxes/t1"
    make_copy(project, copy)
    found = (copy / "tools/run.sh").stat()
    assert (found.st_size, stat.S_IMODE(found.st_mode), found.st_mtime_ns) == (0, 0o741, LONG_AGO_NS)
    assert stat.S_IMODE((copy / "tools").stat().st_mode) == 0o750


def test_a_folder_that_may_not_be_written_can_be_in_the_copy(project):
    (project / "fixed").mkdir()
    (project / "fixed/a.txt").write_text("a")
    (project / "fixed").chmod(0o555)
    make_copy(project, project / ".aide/sandboxes/t1")
    assert stat.S_IMODE((project / ".aide/sandboxes/t1/fixed").stat().st_mode) == 0o755


def test_no_file_of_the_copy_shares_its_inode(project):
    (project / "same.py").hardlink_to(project / "calc.py")
    copy = project / ".aide/sandboxes/t1"
    make_copy(project, copy)
    assert {(copy / name).stat().st_nlink for name in names(copy)} == {1}
    (copy / "calc.py").write_text("written through")
    assert (project / "calc.py").read_text() == BROKEN
    assert (copy / "same.py").read_text() == BROKEN


@pytest.mark.parametrize(
    "name",
    ["a b.py", "ünïcödé – 文.py", "two\nlines.py", "tab\t.py", '"quoted".py', "-dash.py", " ", os.fsdecode(b"\xff.py")],
)
def test_names_of_any_kind_are_copied_and_brought_up_to_date(project, name):
    copy = project / ".aide/sandboxes/t1"
    for text in ("one", "two"):
        (project / name).write_text(text)
        assert name in make_copy(project, copy).paths
        assert (copy / name).read_text() == text
    make_copy(project, copy)
    assert (copy / name).read_text() == "two"


def test_a_rename_that_changes_only_case_is_followed(project):
    copy = project / ".aide/sandboxes/t1"
    (project / "Sub").mkdir()
    (project / "Sub/X.py").write_text("x")
    make_copy(project, copy)
    (project / "Sub/X.py").rename(project / "Sub/x.py")
    (project / "Sub").rename(project / "sub")
    make_copy(project, copy)
    assert [name for name in names(copy) if name.lower().startswith("sub")] == ["sub/x.py"]


def test_a_second_copy_is_fresh_and_takes_over_what_stands(project):
    copy = project / ".aide/sandboxes/t1"
    (project / "sub").mkdir()
    (project / "sub/deep.py").write_text("d")
    make_copy(project, copy)
    make_copy(project, copy)
    before = inodes(copy)
    (copy / "__pycache__").mkdir()
    (copy / "__pycache__/calc.pyc").write_bytes(b"ignored by git, left by a check")
    (copy / "build/lib").mkdir(parents=True)
    (copy / "notes.txt").unlink()
    (copy / "calc.py").write_text("changed by an edit")
    (copy / "test_calc.py").chmod(0o600)
    shutil.rmtree(copy / "sub")
    (copy / "sub").write_text("a file where a folder was")
    make_copy(project, copy)
    assert names(copy) == [".gitignore", "calc.py", "notes.txt", "pytest.ini", "sub/deep.py", "test_calc.py"]
    assert sorted(path.name for path in copy.iterdir() if path.is_dir()) == ["sub"]
    assert (copy / "calc.py").read_text() == BROKEN
    assert stat.S_IMODE((copy / "test_calc.py").stat().st_mode) == stat.S_IMODE((project / "calc.py").stat().st_mode)
    assert inodes(copy)["pytest.ini"] == before["pytest.ini"]


@pytest.mark.parametrize("side", ["project", "copy"])
def test_a_change_that_keeps_size_and_time_is_seen(project, side):
    copy = project / ".aide/sandboxes/t1"
    make_copy(project, copy)
    changed = {"project": project, "copy": copy}[side] / "calc.py"
    before = changed.stat()
    changed.write_text(BROKEN.replace("-", "+"))
    os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))
    make_copy(project, copy)
    assert (copy / "calc.py").read_text() == (project / "calc.py").read_text()


@pytest.mark.parametrize("side", ["project", "copy"])
def test_changes_in_the_same_clock_tick_are_seen(project, side):
    copy = project / ".aide/sandboxes/t1"
    changed = {"project": project, "copy": copy}[side] / "calc.py"
    for number in range(60):
        (project / "calc.py").write_text(f"{number:04}")
        make_copy(project, copy)
        changed.write_text(f"{number + 1:04}")
        os.utime(changed, ns=(LONG_AGO_NS, LONG_AGO_NS))
        make_copy(project, copy)
        assert (copy / "calc.py").read_text() == (project / "calc.py").read_text()


def test_a_file_as_young_as_the_clock_is_copied_again(project):
    """What saves the two tests above where the clock is coarse, told by numbers."""
    found = survey(project)
    newest = max(seen.st_ctime_ns for seen in found.files.values())
    youngest = [name for name, seen in found.files.items() if seen.st_ctime_ns == newest]
    (project.parent / "copy").mkdir()
    repair = Repair(str(project), str(project.parent / "copy"), found, {}, seen_from=newest)
    repair.run()
    assert sorted(repair.rows) == sorted(set(found.files) - set(youngest))


def test_a_copy_as_young_as_the_clock_is_made_again(tmp_path):
    long_ago, still_to_come = [0] * 10, [0, 0, 0, 0, 0, 0, 0, 2**62, 0, 0]
    assert manifest.settled({"a": long_ago, "b": still_to_come}, tmp_path) == {"a": long_ago}


def test_a_folder_that_became_a_link_to_the_real_one_is_not_written_through(project):
    (project / "sub").mkdir()
    (project / "sub/a.py").write_text("real")
    copy = project / ".aide/sandboxes/t1"
    make_copy(project, copy)
    shutil.rmtree(copy / "sub")
    (copy / "sub").symlink_to(project / "sub")
    before = (project / "sub/a.py").stat()
    make_copy(project, copy)
    assert not (copy / "sub").is_symlink()
    after = (project / "sub/a.py").stat()
    assert (after.st_ino, after.st_ctime_ns) == (before.st_ino, before.st_ctime_ns)


def test_a_real_file_linked_into_the_copy_is_not_written_over(project):
    copy = project / ".aide/sandboxes/t1"
    make_copy(project, copy)
    for name, linked in (("notes.txt", project / "calc.py"), ("left.txt", project / "test_calc.py")):
        (copy / name).unlink(missing_ok=True)
        (copy / name).hardlink_to(linked)
    make_copy(project, copy)
    assert (project / "calc.py").read_text() == BROKEN
    assert (copy / "notes.txt").read_text() == "one\n"
    assert (project / "test_calc.py").stat().st_nlink == 1


def test_a_sandbox_that_became_a_link_to_the_project_leaves_the_project_alone(project):
    copy = project / ".aide/sandboxes/t1"
    (project / "new.py").write_text("n")
    make_copy(project, copy)
    shutil.rmtree(copy)
    copy.symlink_to(project)
    make_copy(project, copy)
    assert not copy.is_symlink()
    assert "new.py" in names(copy)
    assert (project / ".git").is_dir()


@pytest.mark.parametrize(
    ("text", "copied"),
    [
        ("calc.py", "calc.py"),
        ("./calc.py", "./calc.py"),
        ("sub//../nowhere", "nowhere"),
        ("../calc.py", "../calc.py"),
        ("nowhere", "nowhere"),
        ("{root}/calc.py", "../calc.py"),
        ("{root}", ".."),
        ("../../project/calc.py", "../calc.py"),
        ("../../../../calc.py", "../.outside{above}/calc.py"),
        ("/etc/passwd", "../.outside/etc/passwd"),
        ("../here/here/../../../calc.py", "../.outside{above}/calc.py"),
        ("{root}/through", "../.outside/etc/hostname"),
    ],
)
def test_links_stay_links_and_none_leads_out_of_the_copy(project, text, copied):
    (project / "links").mkdir()
    (project / "here").symlink_to(".")
    (project / "through").symlink_to("/etc/hostname")
    places = {"root": project, "above": project.parents[2]}
    os.symlink(text.format(**places), project / "links/link")  # noqa: PTH211 - pathlib would tidy it up
    copy = project / ".aide/sandboxes/t1"
    make_copy(project, copy)
    assert link_text(str(copy / "links/link")) == copied.format(**places)
    assert (copy / "links/link").resolve().is_relative_to(copy)
    make_copy(project, copy)
    assert link_text(str(copy / "links/link")) == copied.format(**places)


def test_writing_through_a_link_that_led_out_of_the_project_writes_nothing(project, tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text("the operator's")
    (project / "out").symlink_to(outside)
    (project / "climbing").symlink_to("../outside.txt")
    copy = project / ".aide/sandboxes/t1"
    make_copy(project, copy)
    for name in ("out", "climbing"):
        with pytest.raises(FileNotFoundError):
            (copy / name).write_text("through")
    assert outside.read_text() == "the operator's"


@pytest.mark.parametrize("ignored", ["", "/sub\n"])
def test_files_that_git_knows_behind_a_new_link_are_not_copied(project, ignored):
    for folder in ("sub", "other"):
        (project / folder).mkdir()
        (project / folder / "a.py").write_text(folder)
    git(project, "add", "sub", "other")
    shutil.rmtree(project / "sub")
    (project / "sub").symlink_to(project.parent)
    (project.parent / "a.py").write_text("not of the project")
    (project / ".gitignore").write_text(f".aide/\n{ignored}")
    copy = project / ".aide/sandboxes/t1"
    listing = make_copy(project, copy)
    assert [path for path in listing.paths if "/" in path or path == "sub"] == ["other/a.py", *["sub"] * (not ignored)]
    assert not (copy / "sub").exists()


def test_a_link_changed_in_the_copy_or_the_project_is_put_right(project):
    copy = project / ".aide/sandboxes/t1"
    (project / "link").symlink_to("calc.py")
    (project / "other").symlink_to("calc.py")
    make_copy(project, copy)
    (copy / "link").unlink()
    (copy / "link").symlink_to(project / "calc.py")
    (project / "other").unlink()
    (project / "other").symlink_to("notes.txt")
    make_copy(project, copy)
    assert (copy / "link").readlink() == Path("calc.py")
    assert (copy / "other").readlink() == Path("notes.txt")


def test_a_file_that_vanishes_while_it_is_copied_is_not_in_the_listing(project):
    found = survey(project)
    (project / "notes.txt").unlink()
    (project / "calc.py").unlink()
    (project / "calc.py").symlink_to("test_calc.py")
    (project.parent / "copy").mkdir()
    Repair(str(project), str(project.parent / "copy"), found, {}, seen_from=2**63).run()
    assert found.listing().paths == (".gitignore", "pytest.ini", "test_calc.py")
    assert names(project.parent / "copy") == [".gitignore", "pytest.ini", "test_calc.py"]


def test_a_project_that_changes_all_the_time_can_be_copied(project):
    stop = threading.Event()

    def churn():
        number = 0
        while not stop.wait(0.0005):
            number += 1
            (project / f"file{number % 7}").write_text(str(number))
            (project / f"file{(number + 3) % 7}").unlink(missing_ok=True)

    churning = threading.Thread(target=churn)
    churning.start()
    try:
        listings = [make_copy(project, project / ".aide/sandboxes/t1") for _ in range(20)]
    finally:
        stop.set()
        churning.join()
    assert all("calc.py" in listing.paths for listing in listings)
    listing = make_copy(project, project / ".aide/sandboxes/t1")
    assert names(project / ".aide/sandboxes/t1") == list(listing.paths)


def test_what_may_not_be_read_is_left_out_and_named(project):
    (project / "secret.txt").write_text("s")
    (project / "secret.txt").chmod(0)
    (project / "closed/deep").mkdir(parents=True)
    (project / "closed/deep/tracked.txt").write_text("t")
    make_project(project / "inner")
    git(project, "add", "closed", "inner")
    for folder in ("closed", "inner"):
        (project / folder).chmod(0)
    code = (
        "import sys, pathlib; from cipher_nb.sandbox.scratch import make_copy\n"
        "root = pathlib.Path(sys.argv[1]); print(make_copy(root, root / '.aide/sandboxes/t1').left_out)"
    )
    assert run_without_override(code, project) == "('closed/deep/tracked.txt', 'inner', 'secret.txt')\n"
    for folder in ("closed", "inner"):
        (project / folder).chmod(0o700)
    assert "calc.py" in names(project / ".aide/sandboxes/t1")


@pytest.mark.slow
def test_folders_that_a_check_closed_or_nested_deep_are_removed(project):
    code = """
import os, pathlib, sys
from cipher_nb.sandbox.scratch import make_copy
root = pathlib.Path(sys.argv[1])
(root / "sub").mkdir()
(root / "sub/a.py").write_text("a")
copy = root / ".aide/sandboxes/t1"
make_copy(root, copy)
(copy / "closed/inner").mkdir(parents=True)
(copy / "closed/inner/x").touch()
for folder in ("closed/inner", "closed", "sub", "."):
    (copy / folder).chmod(0)
copy.chmod(0o700)
os.chdir(copy)
for _ in range(3000):
    os.mkdir("deep")
    os.chdir("deep")
os.chdir(root)
make_copy(root, copy)
print(sorted(os.listdir(copy)), os.listdir(copy / "sub"))
"""
    expected = "['.gitignore', 'calc.py', 'notes.txt', 'pytest.ini', 'sub', 'test_calc.py'] ['a.py']\n"
    assert run_without_override(code, project) == expected


def test_a_disk_without_room_is_one_line_and_nothing_half_is_trusted_afterwards(project):
    copy = project / ".aide/sandboxes/t1"
    make_copy(project, copy)
    (project / "big.bin").write_bytes(os.urandom(300_000))
    code = """
import pathlib, resource, sys
from cipher_nb.errors import SandboxError
from cipher_nb.sandbox.scratch import make_copy
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
root = pathlib.Path(sys.argv[1])
try:
    make_copy(root, root / ".aide/sandboxes/t1")
except SandboxError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code, str(project)], capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1
    assert f"File too large: '{copy}/big.bin'" in done.stdout
    assert not manifest_path(copy).exists()
    make_copy(project, copy)
    assert (copy / "big.bin").read_bytes() == (project / "big.bin").read_bytes()


def test_a_folder_that_cannot_be_written_is_a_sandbox_error(project):
    (project / ".aide").write_text("not a folder")
    with pytest.raises(SandboxError, match="could not be made"):
        make_copy(project, project / ".aide/sandboxes/t1")
    with pytest.raises(SandboxError, match="cannot be made"), in_use(project / ".aide/sandboxes/t1"):
        pass


@pytest.mark.parametrize("cut", [0, 1, 200, -1])
def test_a_torn_manifest_is_not_believed(project, cut):
    copy = project / ".aide/sandboxes/t1"
    make_copy(project, copy)
    make_copy(project, copy)
    manifest_path(copy).write_bytes(manifest_path(copy).read_bytes()[:cut])
    before = inodes(copy)
    (copy / "calc.py").write_text("changed")
    make_copy(project, copy)
    assert (copy / "calc.py").read_text() == BROKEN
    assert inodes(copy).keys() == before.keys()


def test_a_manifest_of_an_earlier_boot_is_not_believed(project):
    copy = project / ".aide/sandboxes/t1"
    make_copy(project, copy)
    rows = manifest.load(manifest_path(copy))
    assert rows
    text = manifest_path(copy).read_text()
    manifest_path(copy).write_text(text.replace('"boot":"', '"boot":"earlier'))
    assert manifest.load(manifest_path(copy)) == {}
