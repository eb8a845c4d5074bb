"""Run folders: they keep everything of a training, and a failed write loses nothing."""

from __future__ import annotations

import glob
import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import tokviz
from tokviz.formats import run as run_folder
from tokviz.formats import run_writer
from tokviz.training.replay.replay import Replay
from tokviz.training.run_library import list_runs

TEXT = "low low low low low lower lower widest widest widest" + " newest" * 6


@pytest.fixture(scope="module")
def run() -> tokviz.TrainingRun:
    return tokviz.train(
        [TEXT], 1_000, split_pattern="llama3", special_tokens=["<|a|>"], special_ids="first"
    )


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def test_a_run_folder_gives_the_tokenizer(run, tmp_path):
    run.save(tmp_path / "mine")
    for name in (tmp_path / "mine", str(tmp_path / "mine"), f"{tmp_path}/mine/"):
        tok = tokviz.load(name)
        assert tok.name == "mine"
        assert tok.vocab == run.tokenizer.vocab
        assert tok.encode(TEXT + "<|a|>") == run.tokenizer.encode(TEXT + "<|a|>")
        assert tok.split_pattern.name == "llama3"


def test_a_run_folder_gives_the_whole_run(run, tmp_path):
    run.save(tmp_path / "run")
    again = tokviz.TrainingRun.load(tmp_path / "run")
    assert again.history == run.history
    assert again.settings == run.settings
    assert again.timings == run.timings
    assert again.stopped_early == run.stopped_early
    assert [*again.pre_token_counts.pre_tokens()] == [*run.pre_token_counts.pre_tokens()]
    assert again.pre_token_counts.n_bytes == run.pre_token_counts.n_bytes


def test_a_run_of_a_version_with_sharding_and_approximation_still_loads(run, tmp_path):
    folder = tmp_path / "run"
    run.save(folder)
    left_out = {"least": 2, "n_pre_tokens": 1, "n_bytes": 5, "most_missing": 1, "n_sure": 0}
    about = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    about |= {"engine": "sharded", "approximate": left_out}
    (folder / "run.json").write_text(json.dumps(about), encoding="utf-8")
    again = tokviz.TrainingRun.load(folder)
    assert (again.history, again.engine) == (run.history, "sharded")
    assert again.tokenizer.merges == run.tokenizer.merges
    replay = Replay.open(folder)
    assert replay.state(replay.n_merges).n_tokens == run.n_tokens
    again.save(folder)
    assert "approximate" not in json.loads((folder / "run.json").read_text(encoding="utf-8"))


def test_a_run_with_special_tokens_after_the_bytes_is_read_again(tmp_path):
    specials = ["<|a|>", "<|b|>"]
    run = tokviz.train([TEXT], 300, special_tokens=specials, special_ids="after-bytes")
    run.save(tmp_path / "run")
    again = tokviz.TrainingRun.load(tmp_path / "run")
    assert (again.history, again.settings) == (run.history, run.settings)
    assert again.tokenizer.vocab == run.tokenizer.vocab
    assert again.token_lengths().tolist() == run.token_lengths().tolist()


def test_a_run_with_a_custom_regex_is_read_again(tmp_path):
    run = tokviz.train([TEXT], 300, split_pattern="[a-z]+")
    run.save(tmp_path / "run")
    again = tokviz.TrainingRun.load(tmp_path / "run").settings
    assert again.as_json() == run.settings.as_json()
    assert again.split_pattern == run.settings.split_pattern == run.tokenizer.split_pattern
    assert again.split_pattern.guarded
    assert tokviz.load(tmp_path / "run").split_pattern.regex == "[a-z]+"


def test_the_lengths_of_tokens_are_written_for_bits_per_byte(run, tmp_path):
    run.save(tmp_path / "run")
    lengths = np.load(tmp_path / "run" / "token_lengths.npy", allow_pickle=False)
    assert lengths[0] == 0
    assert lengths[1:257].tolist() == [1] * 256
    assert lengths[257:].tolist() == [len(left + right) for left, right in run.tokenizer.merges]


def test_run_json_describes_the_training(run, tmp_path):
    run.save(tmp_path / "run")
    about = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert about["settings"]["tie_break"] == "first"
    assert about["corpus"]["n_bytes"] == len(TEXT)
    assert about["n_vocab"] == run.tokenizer.n_vocab
    assert about["versions"]["tokviz"] == tokviz.__version__


def test_folders_above_are_made(run, tmp_path):
    run.save(tmp_path / "a" / "b" / "run")
    assert [*(tmp_path / "a" / "b").iterdir()] == [tmp_path / "a" / "b" / "run"]


def test_a_run_is_replaced_and_foreign_files_stay(run, tmp_path):
    folder = tmp_path / "run"
    tokviz.train(["abab"], 300).save(folder)
    (folder / "notes.md").write_text("mine")
    (folder / "more").mkdir()
    run.save(folder)
    assert tokviz.load(folder).vocab == run.tokenizer.vocab
    assert (folder / "notes.md").read_text() == "mine"
    assert (folder / "more").is_dir()
    assert [*tmp_path.iterdir()] == [folder]


def test_a_folder_with_other_content_is_never_touched(run, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(tokviz.OutputFileError, match="other content"):
        run.save(tmp_path)
    with pytest.raises(tokviz.OutputFileError, match="is a file"):
        run.save(tmp_path / "thesis.tex")
    assert content(tmp_path) == {"thesis.tex": b"years of work"}


def test_an_empty_folder_becomes_the_run(run, tmp_path):
    (tmp_path / "run").mkdir()
    run.save(tmp_path / "run")
    assert tokviz.load(tmp_path / "run").n_vocab == run.tokenizer.n_vocab


@contextmanager
def no_file_larger_than(n_bytes: int):
    """Make writing fail as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("n_bytes", [0, 700, 1_500])
def test_a_full_disk_leaves_the_old_run_as_it_was(run, n_bytes, tmp_path):
    folder = tmp_path / "run"
    tokviz.train(["abab"], 300).save(folder)
    before = content(folder)
    with no_file_larger_than(n_bytes), pytest.raises(tokviz.OutputFileError, match="too large"):
        run.save(folder)
    assert content(folder) == before
    assert [*tmp_path.iterdir()] == [folder]


def test_a_replacement_that_fails_halfway_is_finished_by_the_next_read(run, tmp_path, monkeypatch):
    folder = tmp_path / "run"
    tokviz.train(["abab"], 300).save(folder)
    replace = os.replace

    def fail(source, target):
        if Path(target).name == "pieces.npz":
            raise OSError(5, "Input/output error")
        replace(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", fail)
        with pytest.raises(tokviz.OutputFileError, match="Input/output error"):
            run.save(folder)
    assert tokviz.TrainingRun.load(folder).history == run.history
    assert sorted(content(folder)) == sorted(run_folder.RUN_FILES)


def killed_at(step: int, save) -> bool:
    """Save in a process that is killed before a step; return whether it was killed."""
    if not (pid := os.fork()):
        n_steps = 0

        def count(act):
            def counted(*arguments, **options):
                nonlocal n_steps
                n_steps += 1
                if n_steps == step:
                    os.kill(os.getpid(), signal.SIGKILL)
                return act(*arguments, **options)

            return counted

        os.rename, os.replace, os.mkdir = map(count, (os.rename, os.replace, os.mkdir))
        os.unlink, os.rmdir = map(count, (os.unlink, os.rmdir))
        try:
            save()
        finally:
            os._exit(0)
    return os.waitpid(pid, 0)[1] != 0


def test_whenever_a_save_is_killed_the_old_or_the_new_run_is_listed(run, tmp_path, monkeypatch):
    monkeypatch.setattr("tokviz.training.run_library.runs_folder", lambda: tmp_path)
    folder = tmp_path / "run"
    versions = {}
    for name, kept in (("old", tokviz.train(["abab"], 300)), ("new", run)):
        kept.save(tmp_path / name)
        versions[name] = content(tmp_path / name)
        shutil.rmtree(tmp_path / name)
    found = []
    for step in range(1, 99):
        tokviz.train(["abab"], 300).save(folder)
        (folder / "notes.txt").write_text("mine")
        was_killed = killed_at(step, lambda: run.save(folder))
        assert [listed.name for listed in list_runs()] == ["run"]
        left = content(folder)
        assert left.pop("notes.txt") == b"mine"
        found.append(next(name for name, files in versions.items() if same(files, left)))
        shutil.rmtree(folder)
        if not was_killed:
            break
    assert found == sorted(found, reverse=True)
    assert {*found} == {"old", "new"}
    assert [*tmp_path.iterdir()] == []


def same(one: dict[str, bytes], other: dict[str, bytes]) -> bool:
    """Return whether two runs are the same except for their timings."""
    return {**one, "run.json": b""} == {**other, "run.json": b""}


KILLED_WHILE_SAVING = """
import os, signal, sys
import tokviz
from tokviz.formats import run_writer
from tokviz.training.replay.replay import Replay
from tokviz.training.run_library import list_runs
run = tokviz.train(["abab"], 300)
run_writer.write_npy = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
run.save(sys.argv[1])
"""


def test_what_a_killed_process_left_is_removed_by_the_next_save(run, tmp_path):
    for name in ("run", "run [1]*"):
        folder = tmp_path / name
        subprocess.run([sys.executable, "-c", KILLED_WHILE_SAVING, str(folder)], check=False)
        (left,) = tmp_path.glob(f".{glob.escape(name)}.*")
        assert (left / "history.npz").exists()
        mine = tmp_path / f".{name}.mine"
        mine.mkdir()
        run.save(folder)
        assert not left.exists()
        assert mine.exists()
        assert sorted(path.name for path in folder.iterdir()) == sorted(run_folder.RUN_FILES)


def test_what_a_living_process_writes_is_left_alone(run, tmp_path, monkeypatch):
    folder = tmp_path / "run"
    write_npy = run_writer.write_npy
    found: list[Path] = []

    def save_another(path, items):
        write_npy(path, items)
        if not found:
            found.append(path.parent)
            run.save(folder)
            assert path.exists()

    monkeypatch.setattr(run_writer, "write_npy", save_another)
    run.save(folder)
    assert [*tmp_path.iterdir()] == [folder]


def test_a_pipe_in_the_place_of_a_mark_lets_nobody_wait(run, tmp_path):
    (tmp_path / ".run.x").mkdir()
    os.mkfifo(tmp_path / ".run.x" / run_folder.MARK)
    run.save(tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("kind", ["file", "pipe", "link in a circle"])
def test_a_link_to_anything_but_a_run_is_left_alone(run, kind, tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(link if kind == "link in a circle" else target)
    if kind == "file":
        target.write_text("precious")
    if kind == "pipe":
        os.mkfifo(target)
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(tokviz.OutputFileError, match="is a file"):
        run.save(link)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert link.is_symlink()
    assert kind != "file" or target.read_text() == "precious"


def test_a_link_to_a_run_or_to_nothing_is_followed_and_kept(run, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "run")
    for _ in range(2):
        run.save(link)
        assert link.is_symlink()
        assert tokviz.load(tmp_path / "run").n_vocab == run.tokenizer.n_vocab


def test_a_file_that_appears_while_a_run_is_written_is_left_alone(run, tmp_path, monkeypatch):
    folder, write_npy = tmp_path / "run", run_writer.write_npy

    def interfere(path, items):
        folder.write_text("precious")
        write_npy(path, items)

    monkeypatch.setattr(run_writer, "write_npy", interfere)
    with pytest.raises(tokviz.OutputFileError, match="is a file"):
        run.save(folder)
    assert content(tmp_path) == {"run": b"precious"}


FORGED = (".a.old.b", ".run.old.b", ".run.b")


@pytest.mark.parametrize("forged", FORGED)
@pytest.mark.parametrize("is_link", [False, True])
def test_a_forged_leftover_moves_and_removes_nothing_elsewhere(
    run, forged, is_link, tmp_path, monkeypatch
):
    runs, victim = tmp_path / "runs", tmp_path / "victim"
    monkeypatch.setattr("tokviz.training.run_library.runs_folder", lambda: runs)
    (victim / "thesis").mkdir(parents=True)
    (victim / "thesis" / "chapter.tex").write_text("years of work")
    run.save(runs / "thesis")
    (runs / "thesis" / "notes.txt").write_text("mine")
    aside = runs / forged
    aside.mkdir()
    (aside / run_folder.MARK).touch()
    if is_link:
        (aside / "new").symlink_to(victim)
        (aside / "old").symlink_to(victim)
    else:
        (aside / "new" / "thesis").mkdir(parents=True)
        (aside / "new" / "thesis" / "notes.txt").write_text("forged")
    list_runs()
    run.save(runs / "run")
    assert (victim / "thesis" / "chapter.tex").read_text() == "years of work"
    assert (runs / "thesis" / "notes.txt").read_text() == "mine"
    assert sorted(os.listdir(runs / "thesis")) == sorted(["notes.txt", *run_folder.RUN_FILES])


@pytest.mark.parametrize("kind", ["link", "folder of another user"])
def test_staged_files_are_taken_only_from_a_folder_of_the_user(run, kind, tmp_path, monkeypatch):
    folder, other = tmp_path / "run", tmp_path / "other"
    run.save(folder)
    tokviz.train(["abab"], 300).save(other)
    if kind == "link":
        (folder / run_folder.STAGED).symlink_to(other)
    else:
        shutil.copytree(other, folder / run_folder.STAGED)
        monkeypatch.setattr(os, "geteuid", lambda: os.stat(other).st_uid + 1)
    assert tokviz.TrainingRun.load(folder).history == run.history
    assert sorted(content(other)) == sorted(run_folder.RUN_FILES)


def test_a_replaced_run_keeps_its_owner_and_permissions(run, tmp_path):
    folder = tmp_path / "run"
    run.save(folder)
    folder.chmod(0o700)
    (folder / "pieces.npz").chmod(0o600)
    owner = (1234, 2345) if os.geteuid() == 0 else (os.getuid(), os.getgid())
    for path in (folder, folder / "pieces.npz"):
        os.chown(path, *owner)
    number = folder.stat().st_ino
    run.save(folder)
    for path, mode in ((folder, 0o700), (folder / "pieces.npz", 0o600)):
        found = path.stat()
        assert (found.st_uid, found.st_gid) == owner
        assert stat.S_IMODE(found.st_mode) == mode
    assert folder.stat().st_ino == number


def test_what_is_left_in_an_empty_folder_by_a_kill_does_not_refuse_the_next_run(run, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    subprocess.run([sys.executable, "-c", KILLED_WHILE_SAVING, str(folder)], check=False)
    assert [*folder.iterdir()]
    run.save(folder)
    assert sorted(os.listdir(folder)) == sorted(run_folder.RUN_FILES)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_no_file_is_a_pickle(run, tmp_path):
    run.save(tmp_path / "run")
    for name in ("history.npz", "pieces.npz"):
        with zipfile.ZipFile(tmp_path / "run" / name) as file:
            for member in file.namelist():
                assert np.load(file.open(member), allow_pickle=False).dtype.kind in "iu"


def test_a_pickle_is_not_read(run, tmp_path):
    run.save(tmp_path / "run")
    np.savez(tmp_path / "run" / "history.npz", left_id=np.array([object()]))
    with pytest.raises(tokviz.InputFileError, match=r"history\.npz: is damaged"):
        tokviz.TrainingRun.load(tmp_path / "run")


@pytest.mark.parametrize("name", run_folder.RUN_FILES[:4])
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "noise", "pipe"])
def test_a_damaged_run_is_an_error_that_names_it(run, name, damage, tmp_path):
    run.save(tmp_path / "run")
    path = tmp_path / "run" / name
    data = path.read_bytes()
    if damage in ("missing", "pipe"):
        path.unlink()
        if damage == "pipe":
            os.mkfifo(path)
    else:
        path.write_bytes({"empty": b"", "cut": data[:200], "noise": b"\x80noise"}[damage])
    with pytest.raises(tokviz.InputFileError) as caught:
        tokviz.TrainingRun.load(tmp_path / "run")
    assert str(tmp_path / "run") in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("format", "other", "does not describe a training run"),
        ("version", 2, "update tokviz"),
        ("settings", {}, "damaged"),
        ("corpus", [], "damaged"),
    ],
)
def test_a_run_json_that_makes_no_sense_is_an_error(run, key, value, words, tmp_path):
    run.save(tmp_path / "run")
    path = tmp_path / "run" / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    with pytest.raises(tokviz.InputFileError, match=words):
        tokviz.TrainingRun.load(tmp_path / "run")


def test_columns_of_different_length_are_an_error(run, tmp_path):
    run.save(tmp_path / "run")
    arrays = run.history.arrays()
    np.savez(tmp_path / "run" / "history.npz", **(arrays | {"count": arrays["count"][1:]}))
    with pytest.raises(tokviz.InputFileError, match="differ in length"):
        tokviz.TrainingRun.load(tmp_path / "run")


def test_a_folder_that_is_no_run_cannot_be_loaded(tmp_path):
    with pytest.raises(tokviz.InputFileError, match="holds no tokenizer"):
        tokviz.load(tmp_path)


def test_built_in_names_come_before_folders(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    run.save("gpt2")
    assert tokviz.load("gpt2").n_vocab == 50257
    assert tokviz.load("./gpt2").n_vocab == run.tokenizer.n_vocab
    with pytest.raises(tokviz.UnknownTokenizerError):
        tokviz.load("gpt7")


def test_a_corpus_whose_name_is_no_utf8_is_told_and_read_again(tmp_path):
    corpus = tmp_path / os.fsdecode(b"corpus-\xff.txt")
    corpus.write_text("low low lower")
    tokviz.train(corpus, 258).save(tmp_path / "run")
    assert run_folder.read_about(tmp_path / "run")["corpus"]["files"] == [str(corpus)]
