from __future__ import annotations

from cipher_nb.sandbox.scratch import list_files, make_copy


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


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


def test_a_second_copy_is_fresh_and_current_points_to_the_newest(project):
    sandboxes = project / ".aide/sandboxes"
    make_copy(project, sandboxes / "t1")
    (sandboxes / "t1/left.txt").write_text("left by a check")
    make_copy(project, sandboxes / "t1")
    assert not (sandboxes / "t1/left.txt").exists()
    make_copy(project, sandboxes / "t2")
    assert (sandboxes / "current").readlink().name == "t2"
    assert sorted(path.name for path in sandboxes.iterdir()) == ["current", "t1", "t2"]
