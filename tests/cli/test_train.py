"""`tokviz train`: a run folder that every other command can use."""

from __future__ import annotations

import gzip
import json
import random
import signal
import subprocess

import pytest
from tokenizers import Tokenizer as HuggingFaceTokenizer

import tokviz as package
from tests.cli.conftest import COMMAND
from tokviz.cli.main import main
from tokviz.process.jobs.training import Training

TEXT = "low low low low low lower lower widest widest widest " + "newest " * 6


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text(TEXT)
    return path


def records_of(result):
    return [json.loads(line) for line in result.text.splitlines()]


def test_a_trained_tokenizer_is_used_like_any_other(tokviz, corpus, tmp_path):
    run = tmp_path / "run"
    result = tokviz(
        *("train", corpus, "-o", run, "--vocab-size", 265, "--pattern", "whitespace"),
        *("--special", "<|end|>", "--ties", "lexicographic"),
    )
    assert (result.code, result.err) == (0, "")
    assert result.text.startswith(f"{run}: 265 tokens, 8 of them merged\n")
    tok = package.load(run)
    assert tok.merges[:3] == [(b"s", b"t"), (b"e", b"st"), (b"o", b"w")]
    assert tok.special_tokens == {"<|end|>": 264}
    encoded = tokviz("encode", "-t", run, stdin=b"newest<|end|>")
    assert encoded.text.split() == [str(id) for id in tok.encode("newest<|end|>")]
    assert tokviz("decode", "-t", run, stdin=encoded.out).out == b"newest<|end|>"
    named = tokviz("encode", "--json", "-t", run, stdin=b"newest")
    assert tokviz("decode", stdin=named.out).out == b"newest"
    theirs = HuggingFaceTokenizer.from_file(str(run / "tokenizer.json"))
    assert theirs.encode("newest lower<|end|>").ids == tok.encode("newest lower<|end|>")


@pytest.mark.parametrize(
    ("special_ids", "first"), [("first", 0), ("after-bytes", 256), ("last", 258)]
)
def test_special_tokens_may_come_first_or_after_the_bytes(
    tokviz, corpus, tmp_path, special_ids, first
):
    run = tmp_path / "run"
    options = ("--special", "<a>", "--special", "<b>", "--special-ids", special_ids)
    assert tokviz("train", corpus, "-o", run, "--vocab-size", 260, *options).code == 0
    assert package.load(run).special_tokens == {"<a>": first, "<b>": first + 1}


def test_it_reads_standard_input_folders_and_json_lines(tokviz, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a.txt").write_text("aa aa")
    (folder / "b.jsonl").write_text('{"body": "bbbb"}\n')
    run = tmp_path / "run"
    result = tokviz(
        *("train", folder, "-", "-o", run, "--vocab-size", 300, "--field", "body", "--json"),
        stdin=b"cc\xff",
    )
    assert result.code == 0
    done = records_of(result)[-1]
    assert (done["n_bytes"], done["n_documents"], done["n_invalid"]) == (12, 3, 1)
    assert "no pair is left to merge" in done["stopped_early"]


def test_json_tells_how_far_it_is_and_what_came_of_it(tokviz, corpus, tmp_path):
    result = tokviz("train", corpus, "-o", tmp_path / "run", "--vocab-size", 260, "--json")
    *reports, done = records_of(result)
    assert {"reading", "merging", "saving"} <= {report["phase"] for report in reports}
    assert done["phase"] == "done"
    assert (done["n_vocab"], done["n_merges"], done["n_bytes"]) == (260, 4, len(TEXT))
    left, right, count = reports[-1]["newest"][-1]
    assert package.load(tmp_path / "run").merges[-1] == (bytes(left), bytes(right))
    assert count > 0


def test_progress_is_drawn_on_a_terminal_only(tokviz, tokviz_on_terminal, corpus, tmp_path):
    arguments = ("train", corpus, "-o", tmp_path / "run", "--vocab-size", 260)
    drawn = tokviz_on_terminal(*arguments).decode()
    assert "\rreading" in drawn
    assert "\x1b[K" in drawn
    assert drawn.replace("\r\n", "\n").endswith("\n")
    assert "reading " not in tokviz(*arguments).err


def test_ctrl_c_keeps_the_merges_so_far(tmp_path):
    letters = random.Random(1)
    words = ("".join(letters.choices("abcdefgh", k=8)) for _ in range(40_000))
    (tmp_path / "long.txt").write_text(" ".join(words))
    run = tmp_path / "run"
    arguments = ["train", str(tmp_path / "long.txt"), "-o", str(run), "--vocab-size", "200000"]
    process = subprocess.Popen([*COMMAND, *arguments, "--json"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    while not json.loads(process.stdout.readline())["n_merges"]:
        continue
    process.send_signal(signal.SIGINT)
    done = json.loads(process.stdout.read().splitlines()[-1])
    assert process.wait() == 130
    assert done["phase"] == "done"
    assert done["stopped_early"].startswith("stopped at ")
    assert 0 < done["n_merges"] < done["n_merges_wanted"]
    tok = package.load(run)
    assert tok.n_vocab == done["n_vocab"] == 256 + done["n_merges"]
    assert tok.decode(tok.encode("abcdefgh xyz")) == "abcdefgh xyz"


def test_ctrl_c_before_the_first_merge_saves_nothing(tmp_path):
    run = tmp_path / "run"
    process = subprocess.Popen(
        [*COMMAND, "train", "-", "-o", str(run), "--vocab-size", "300", "--json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["phase"] == "reading"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(b"some text " * 10)
    assert process.returncode == 130
    assert errors == b"tokviz: interrupted before the first merge: nothing was saved\n"
    assert not run.exists()


def test_a_run_is_replaced_only_by_force_and_another_folder_never(tokviz, corpus, tmp_path):
    run = tmp_path / "run"
    assert tokviz("train", corpus, "-o", run, "--vocab-size", 260).code == 0
    again = tokviz("train", corpus, "-o", run, "--vocab-size", 262)
    assert (again.code, package.load(run).n_vocab) == (2, 260)
    assert again.err.endswith("choose another folder, or add --force to replace it\n")
    assert tokviz("train", corpus, "-o", run, "--vocab-size", 262, "--force").code == 0
    assert package.load(run).n_vocab == 262
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    result = tokviz("train", corpus, "-o", mine, "--vocab-size", 260, "--force")
    assert result.code == 2
    assert f"{mine}: is a folder with other content" in result.err
    assert [path.name for path in mine.iterdir()] == ["thesis.txt"]


def test_compare_shows_well_known_tokenizers_on_text_held_out(tokviz, tmp_path):
    (tmp_path / "lines.txt").write_text("".join(f"line number {n}\n" for n in range(3000)))
    result = tokviz(
        "train", tmp_path / "lines.txt", "-o", tmp_path / "run", "--vocab-size", 300, "--compare"
    )
    (line,) = [line for line in result.text.splitlines() if "held-out" in line]
    assert all(name in line for name in ("new", "gpt2", "cl100k_base"))


def test_the_result_is_printed_before_a_comparison_that_may_be_interrupted(
    tmp_path, capsys, monkeypatch
):
    (tmp_path / "lines.txt").write_text("".join(f"line number {n}\n" for n in range(3000)))
    arguments = ["train", str(tmp_path / "lines.txt"), "--vocab-size", "300", "--compare", "-o"]
    assert main([*arguments, str(tmp_path / "a")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("bytes/token of ") and lines[-2].startswith("seconds: ")

    printed: list[str] = []

    def interrupt(training):
        printed.extend(capsys.readouterr().out.splitlines())
        assert package.load(tmp_path / "b").n_vocab == 300
        raise KeyboardInterrupt

    monkeypatch.setattr(Training, "compare", interrupt)
    assert main([*arguments, str(tmp_path / "b")]) == 130
    assert len(printed) == len(lines) - 1, "before the comparison"
    assert capsys.readouterr() == ("", "tokviz: no comparison: interrupted\n")


def test_the_files_that_paid_are_named_and_one_may_be_left_out(tokviz, tmp_path):
    folder = tmp_path / "texts"
    (folder / "dist").mkdir(parents=True)
    (folder / "a.py").write_text("low lower lowest " * 3)
    (folder / "dist" / "app.min.js").write_text("newest newer " * 5)
    train = "train", str(folder), "-o", str(tmp_path / "run"), "--vocab-size", "262", "--force"
    out = tokviz(*train).out.decode()
    assert f"% of the merges from {folder}/dist/app.min.js, 3 from it alone\n" in out
    steps = tokviz("replay", str(tmp_path / "run"), "--json").out.decode().splitlines()
    assert json.loads(steps[0])["files"] == [
        [str(folder / "dist" / "app.min.js"), 10],
        [str(folder / "a.py"), 6],
    ]
    frames = tokviz("replay", str(tmp_path / "run"), "--steps", "1").out.decode()
    assert "It comes from dist/app.min.js (10, 62%), a.py (6, 38%).\n" in frames
    assert b"app.min.js" not in tokviz(*train, "--exclude", "*.min.js").out
    refused = tokviz(*train, "--exclude", "*.py", "--exclude", "dist/*")
    assert (refused.code, "is excluded" in refused.err) == (2, True)


def test_a_binary_file_of_a_folder_is_left_out_and_named(tokviz, corpus, tmp_path):
    (tmp_path / "logo.png").write_bytes(b"\0" * 99)
    result = tokviz("train", tmp_path, "-o", tmp_path / "run", "--vocab-size", 260)
    assert result.code == 0
    assert "note: 1 file looks binary and is left out: logo.png." in result.err


def test_a_file_that_is_named_twice_is_said_to_be_read_once(tokviz, corpus, tmp_path):
    sources = tmp_path, tmp_path / "*.txt"
    result = tokviz("train", *sources, "-o", tmp_path / "run", "--vocab-size", 260, "--json")
    assert records_of(result)[-1]["n_bytes"] == corpus.stat().st_size
    assert "note: 1 file is named twice, but read only once." in result.err


def test_what_is_not_utf_8_is_named_before_it_is_learned_also_in_a_compressed_file(
    tokviz, corpus, tmp_path
):
    old, packed = tmp_path / "old.txt", tmp_path / "packed.gz"
    old.write_bytes(b"a cup of " * 2_000 + "café ".encode("latin-1"))
    packed.write_bytes(gzip.compress(old.read_bytes()))
    result = tokviz("train", old, packed, "-o", tmp_path / "run", "--vocab-size", 260)
    assert result.code == 0
    said = "note: old.txt and packed.gz are not UTF-8; their bytes are learned as they are."
    assert said in result.err


def test_a_pattern_with_gaps_is_said_before_the_training(tokviz, corpus, tmp_path):
    options = ("-o", tmp_path / "run", "--vocab-size", 260, "--force", "--pattern")
    assert tokviz("train", corpus, *options, r"\w+|\W").err == ""
    with_gaps = tokviz("train", corpus, *options, r"\w+|[^\w-]")
    assert with_gaps.code == 0
    assert with_gaps.err == (
        "tokviz: note: the split pattern leaves gaps, for example '-': each gap becomes "
        "a pre-token\n"
    )


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--vocab-size", "0"],
        ["--vocab-size", "300.5"],
        ["--vocab-size", "many"],
        ["--vocab-size", "300", "--ties", "none"],
        ["--vocab-size", "300", "--max-chars", "-1"],
    ],
)
def test_options_that_make_no_sense_are_code_2(tokviz, corpus, tmp_path, options):
    result = tokviz("train", corpus, "-o", tmp_path / "run", *options)
    assert (result.code, result.out) == (2, b"")
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--vocab-size", "100"], "a vocabulary of 100 tokens is too small"),
        (["--vocab-size", "300", "--special", ""], "a special token is empty"),
        (["--vocab-size", "300", "--special", "<a>", "--special", "<a>"], "is listed twice"),
        (
            ["--vocab-size", "300", "--pattern", r"\w("],
            r"split pattern '\w(': missing ) at character 4",
        ),
        (["--vocab-size", "300", "--pattern", "(?r)a|b"], "(?r) matches from right to left"),
        (
            ["--vocab-size", "300", "--pattern", r"(?=(\w)\K)"],
            r"instead of \K, which moves the start",
        ),
        (["--vocab-size", "300", "nowhere.txt"], "nowhere.txt: there is no such file"),
        (["--vocab-size", "300", ""], "tokviz: '': there is no such file"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_saves_nothing(
    tokviz, corpus, tmp_path, options, message
):
    run = tmp_path / "run"
    result = tokviz("train", corpus, "-o", run, *options)
    assert (result.code, result.out) == (2, b"")
    assert message in result.err
    assert len(result.err.splitlines()) == 1
    assert not run.exists()


def test_an_empty_corpus_is_an_error(tokviz, tmp_path):
    result = tokviz("train", "-", "-o", tmp_path / "run", "--vocab-size", 300)
    assert result.code == 2
    assert "the corpus holds no text" in result.err


def test_the_caps_limit_what_is_read(tokviz, tmp_path):
    (tmp_path / "two.txt").write_text("abcdef<|endoftext|>ghijkl")
    result = tokviz(
        *("train", tmp_path / "two.txt", "-o", tmp_path / "run", "--vocab-size", 300, "--json"),
        *("--max-doc-chars", 2),
    )
    assert records_of(result)[-1]["n_bytes"] == 4


def test_a_table_without_text_is_named_before_anything_is_read(tokviz, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"text": [1, 2]}), tmp_path / "z.parquet")
    (tmp_path / "a.txt").write_text("a a a")
    result = tokviz("train", tmp_path, "-o", tmp_path / "run", "--vocab-size", 300, "--json")
    assert (result.code, result.out) == (2, b"")
    assert result.err == "tokviz: z.parquet: its column 'text' is not text\n"
    assert not (tmp_path / "run").exists()


def test_advice_tells_of_every_smaller_vocabulary(tmp_path, capsys) -> None:
    lines = "".join(f"the {n} words of line {n * n} end\n" for n in range(3000))
    (tmp_path / "text").write_text(lines)
    run = str(tmp_path / "run")
    arguments = ["train", str(tmp_path / "text"), "-o", run, "--force", "--advise", "64"]
    assert main([*arguments, "--vocab-size", "1024"]) == 0
    said = capsys.readouterr().out
    assert "1,024" in said and "weights" in said
    assert "tokens are enough" in said or "still worth it" in said
    (tmp_path / "text").write_text("abab")
    assert main([*arguments, "--vocab-size", "258"]) == 0
    assert "no advice" in capsys.readouterr().err
    assert main([*arguments[:-2], "--compare", "--vocab-size", "258"]) == 0
    assert "no comparison: the corpus is too small" in capsys.readouterr().err
