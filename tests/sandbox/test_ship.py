from __future__ import annotations

import stat

import pytest

from cipher_nb.errors import ConflictError, SandboxError
from cipher_nb.sandbox.proposal.changes import hashes
from cipher_nb.sandbox.proposal.edits import Delete, Proposal, Rename, Replace, Write
from cipher_nb.sandbox.ship import apply_to_tree, commit
from tests.sandbox.conftest import BROKEN, git

FIX = Replace("calc.py", "a - b", "a + b")


def apply_now(root, *edits):
    proposal = Proposal("test", edits)
    base = hashes(root, proposal.touched())
    return apply_to_tree(root, proposal, base_hashes=base, aide=root.with_name("aide"), task="t1")


def files_of(root):
    paths = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(root)): path.read_text() for path in paths}


def test_all_edits_arrive_and_modes_stay(project):
    (project / "calc.py").chmod(0o750)
    touched = apply_now(project, FIX, Delete("notes.txt"), Rename("test_calc.py", "tests/test_calc.py"))
    assert touched == ("calc.py", "notes.txt", "test_calc.py", "tests/test_calc.py")
    assert (project / "calc.py").read_text() == "def add(a, b):\n    return a + b\n"
    assert stat.S_IMODE((project / "calc.py").stat().st_mode) == 0o750
    assert not (project / "notes.txt").exists()
    assert (project / "tests/test_calc.py").exists()


@pytest.mark.parametrize("meanwhile", ["changed", "deleted", "appeared"])
def test_a_file_that_changed_meanwhile_stops_everything_and_is_named(project, meanwhile):
    proposal = Proposal("test", (Write("notes.txt", "mine"), FIX, Write("new.py", "mine")))
    base = hashes(project, proposal.touched())
    name = {"changed": "calc.py", "deleted": "calc.py", "appeared": "new.py"}[meanwhile]
    if meanwhile == "deleted":
        (project / name).unlink()
    else:
        (project / name).write_text("theirs")
    before = files_of(project)
    with pytest.raises(ConflictError, match=f"{name} changed since the proposal was verified".replace(".", r"\.")):
        apply_to_tree(project, proposal, base_hashes=base, aide=project.with_name("aide"), task="t1")
    assert files_of(project) == before


def test_a_commit_holds_the_touched_paths_and_nothing_else(project):
    (project / "dirty.txt").write_text("untracked")
    (project / "staged.txt").write_text("staged")
    git(project, "add", "staged.txt")
    (project / ".gitignore").write_text("# dirty\n")
    apply_now(project, FIX, Write("new/*.py", "x"), Rename("notes.txt", "notes.md"), Write("new/a.py", "y"))
    done = commit(project, ["calc.py", "new/*.py", "notes.txt", "notes.md"], message="fix add")
    assert git(project, "log", "-1", "--format=%H %an %s").strip() == f"{done.sha} Operator fix add"
    listed = git(project, "show", "--name-only", "--no-renames", "--format=", "HEAD").split()
    assert sorted(listed) == ["calc.py", "new/*.py", "notes.md", "notes.txt"]
    assert sorted(done.paths) == ["calc.py", "new/*.py", "notes.md", "notes.txt"]
    left = git(project, "status", "--porcelain", "--untracked-files=all").splitlines()
    assert left == [" M .gitignore", "A  staged.txt", "?? dirty.txt", "?? new/a.py"]


def test_a_workspace_in_a_subfolder_commits_to_the_repository_above(project):
    part = project / "part"
    part.mkdir()
    apply_now(part, Write("p.py", "x"))
    assert commit(part, ["p.py"], message="part").paths == ("p.py",)
    assert git(project, "show", "--name-only", "--format=", "HEAD").split() == ["part/p.py"]


def test_git_variables_of_a_calling_hook_do_not_redirect_the_commit(project, tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    apply_now(project, FIX)
    with monkeypatch.context() as hook:
        hook.setenv("GIT_DIR", str(other / ".git"))
        done = commit(project, ["calc.py"], message="fix")
    assert git(project, "rev-parse", "HEAD").strip() == done.sha


def test_ignored_files_are_left_out_of_a_commit(project):
    apply_now(project, FIX, Write("debug.log", "x"))
    assert commit(project, ["calc.py", "debug.log"], message="fix").paths == ("calc.py",)


def test_nothing_to_commit_is_said(project):
    with pytest.raises(SandboxError, match=r"nothing to commit in calc\.py"):
        commit(project, ["calc.py"], message="fix")


def test_a_folder_that_is_no_repository_is_said(tmp_path):
    with pytest.raises(SandboxError, match="is no git repository; run git init there to ship"):
        commit(tmp_path, ["a.py"], message="fix")


def test_a_machine_without_git_is_said(project, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError, match="git is not installed"):
        commit(project, ["calc.py"], message="fix")


def test_a_hook_that_refuses_is_quoted_and_leaves_the_index_as_it_was(project):
    hook = project / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\necho 'no commits on fridays' >&2\nexit 1\n")
    hook.chmod(0o755)
    apply_now(project, FIX, Write("new.py", "x"))
    with pytest.raises(SandboxError, match=r"git commit failed in .*: no commits on fridays"):
        commit(project, ["calc.py", "new.py"], message="fix")
    assert git(project, "status", "--porcelain").splitlines() == [" M calc.py", "?? new.py"]
    assert (project / "calc.py").read_text() != BROKEN
