from __future__ import annotations

import tempfile
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cipher_nb.sandbox.journal import revert
from cipher_nb.sandbox.proposal.changes import hashes, plan
from cipher_nb.sandbox.proposal.edits import Delete, Mode, Proposal, Rename, Replace, Write
from cipher_nb.sandbox.ship import apply_to_tree
from tests.sandbox.trees import make, snapshot

NAMES = ("a", "A", "b.py", "x y", "\u00e9", "d", "d/a", "d/e", "d/e/a", "d/e/b.py", "D/a", "f/g/h/i", "f/g/h/j")
IN_MEMORY = Path("/dev/shm") if Path("/dev/shm").is_dir() else None  # thousands of fsyncs

contents = st.one_of(
    st.just(b""),
    st.binary(max_size=40),
    st.sampled_from([b"one TOKEN two", b"one\r\nTOKEN\r\n", b"\xef\xbb\xbfTOKEN\n", b"caf\xe9 TOKEN\n", b"\x00TOKEN"]),
    st.text(max_size=40).map(lambda text: text.encode(errors="replace")),
)
modes = st.sampled_from([0o644, 0o755, 0o600, 0o700, 0o640, 0o444, 0o511])
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)


@st.composite
def trees(draw):
    """A tree: for each path its mode and bytes, or the target of a link."""
    tree = {}
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1, max_size=8)):
        if is_free(tree, name):
            is_link = draw(st.integers(0, 4)) == 0
            tree[name] = draw(st.sampled_from(["a", "d", "../out", "./d//a"])) if is_link else draw(contents)
    return tree, {name: draw(modes) for name in tree}


def is_free(tree, name):
    """Tell whether a file may have this name beside the others: no file lies in another."""
    parents = {str(parent) for parent in PurePosixPath(name).parents}
    return not any(other in parents or other == name or other.startswith(f"{name}/") for other in tree)


def through_link(tree, name):
    return any(isinstance(tree.get(str(parent)), str) for parent in PurePosixPath(name).parents)


@st.composite
def edits_of(draw, tree):
    """Edits that can be carried out, each on what those before it made of the tree."""
    now, edits = dict(tree), []
    for _ in range(draw(st.integers(1, 6))):
        files = [name for name, content in now.items() if isinstance(content, bytes)]
        free = [name for name in NAMES if is_free(now, name) and not is_taken(tree, name)]
        op = draw(st.sampled_from([Write, Replace, Delete, Rename, Mode]))
        if op is Write and (files or free):
            name, text = draw(st.sampled_from([*files, *free])), draw(texts)
            edits.append(Write(name, text))
            now[name] = text.encode()
        elif op is Replace and (fit := [name for name in files if b"TOKEN" in now[name] and b"\0" not in now[name]]):
            name = draw(st.sampled_from(fit))
            edits.append(Replace(name, "TOKEN", draw(st.sampled_from(["", "new\nline", "\r\n"]))))
            now[name] = b"replaced"
        elif op is Mode and files:
            edits.append(Mode(draw(st.sampled_from(files)), draw(st.sampled_from(["755", "644"]))))
        elif op in (Delete, Rename) and now:
            name = draw(st.sampled_from(sorted(now)))
            if op is Delete or not free:
                edits.append(Delete(name))
            else:
                edits.append(Rename(name, to := draw(st.sampled_from(free))))
                now[to] = now[name]
            del now[name]
    return edits


def is_taken(tree, name):
    """Tell whether the real tree has a folder there, or a link on the way: such a path is refused."""
    return any(other.startswith(f"{name}/") for other in tree) or through_link(tree, name)


cases = trees().flatmap(lambda made: st.tuples(st.just(made), edits_of(made[0])))


def apply_and_undo(made, edits):
    tree, modes_of = made
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        root = Path(folder, "root")
        root.mkdir()
        for name, content in tree.items():
            make(root, name, content, modes_of[name])
        before = snapshot(root)
        proposal = Proposal("", tuple(edits))
        planned = plan(root, proposal)
        base = hashes(root, proposal.touched())
        apply_to_tree(root, proposal, base_hashes=base, aide=root / ".aide", task="t1")
        after = snapshot(root)
        for path, state in planned.items():
            found = after.get(path, ("folder", ""))
            expected = state and (state.data.decode() if state.is_link else state.data)
            assert (found[-1] if found[0] != "folder" else None) == expected
        revert(root, root / ".aide", "t1")
        assert snapshot(root) == before
        assert sorted(path.name for path in (root / ".aide").iterdir()) == ["journal", "undo"]


@given(cases)
@settings(max_examples=40, deadline=None)
def test_a_random_edit_set_undone_leaves_the_tree_as_it_was(case):
    apply_and_undo(*case)


@pytest.mark.slow
@given(cases)
@settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_thousand_random_edit_sets_undone_leave_the_tree_as_it_was(case):
    apply_and_undo(*case)
