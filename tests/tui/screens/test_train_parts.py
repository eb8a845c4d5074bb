"""The pure parts of the Train screen: plan, corpus, reports and summary as text."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from tokviz.process.jobs.train_messages import HeldOut, TrainSummary
from tokviz.training.attribution import FileShare
from tokviz.training.corpus.entries import (
    CorpusEntry,
    full_source,
    inspect_source,
    inspect_sources,
    remarks,
)
from tokviz.training.progress import ClusterState, NewMerge, TrainProgress
from tokviz.training.run_library import copy_run, remove_run
from tokviz.tui.screens.train.form import paint_corpus_entry
from tokviz.tui.screens.train.plan import (
    CUSTOM,
    FormValues,
    make_plan,
    make_request,
    new_run_folder,
    parse_count,
    plan_content,
)
from tokviz.tui.screens.train.side import (
    Learning,
    NumberedMerge,
    paint_merge,
    phases_content,
    summary_content,
)

FILE = CorpusEntry("/texts/book.txt", 1, 1_000_000)
VALUES = FormValues(corpus=(FILE,))
REPORT = TrainProgress("merging", 0.5, 3.0, 4.0, 1000, 30, 2, 4, 500)
SUMMARY = TrainSummary(
    run_folder="/runs/book",
    n_vocab=300,
    n_merges=43,
    n_merges_wanted=43,
    stopped_early=None,
    seconds_by_phase={"reading": 1.0, "merging": 2.5, "saving": 0.001},
    n_bytes=1000,
    n_chars=990,
    n_documents=1,
    n_invalid=0,
    n_pre_tokens=30,
    n_tokens=400,
    longest_token=b" the",
    peak_memory_bytes=50_000_000,
    held_out=HeldOut(2_000, {"new": 2.5, "gpt2": 4.0, "cl100k_base": 4.5}),
)


def problems(**changes: object) -> str:
    return " ".join(make_plan(replace(VALUES, **changes), Path("/runs/x")).problems)


@pytest.mark.parametrize(
    ("typed", "number"),
    [("32,000", 32_000), (" 2.5k ", 2500), ("1_0", 10), ("10M", 10_000_000), ("", None),
     ("-3", None), ("many", None), ("9" * 20, None), ("300.5", None), ("1.0005k", None),
     ("2.3k", 2300)],
)  # fmt: skip
def test_numbers_are_read_as_people_write_them(typed: str, number: int | None) -> None:
    assert parse_count(typed) == number


def test_a_good_form_has_no_problem_and_becomes_a_request() -> None:
    values = replace(VALUES, vocab_size="1k", specials="<a> <b>", special_ids="first")
    plan = make_plan(values, Path("/runs/x"))
    assert (plan.problems, plan.n_merges) == ((), 1000 - 256 - 2)
    request = make_request(values, plan)
    assert request.sources == ("/texts/book.txt",)
    assert (request.vocab_size, request.special_tokens) == (1000, ("<a>", "<b>"))
    assert (request.special_ids, request.split_pattern) == ("first", "gpt4")
    assert (request.max_chars, request.run_folder) == (None, "/runs/x")
    assert (request.workers, request.scheduler, request.compare) == (None, None, True)


def test_special_tokens_can_have_their_ids_after_the_bytes() -> None:
    values = replace(VALUES, special_ids="after-bytes")
    assert make_request(values, make_plan(values, Path("/runs/x"))).special_ids == "after-bytes"


def test_workers_are_a_number_or_an_address() -> None:
    def asked(workers: str) -> tuple[int | None, str | None, bool]:
        values = replace(VALUES, workers=workers)
        plan = make_plan(values, Path("/runs/x"))
        assert "no held-out text remains" in plan.notes[0], "what there is not, before it begins"
        request = make_request(values, plan)
        return request.workers, request.scheduler, request.compare

    assert asked(" 4 ") == (4, None, False)
    assert asked("tcp://host:8786") == (None, "tcp://host:8786", False)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"corpus": ()}, "Add files"),
        ({"corpus": (CorpusEntry("/a/b", 0, error="there is no such file"),)}, "b: there is no"),
        ({"vocab_size": "200"}, "256 bytes and 1 special token: 257 tokens or more"),
        ({"vocab_size": "lots"}, "The vocabulary size must be a whole number"),
        ({"vocab_size": "300.5"}, "The vocabulary size must be a whole number"),
        ({"vocab_size": "20m"}, "too large"),
        ({"specials": "<a> <b> <a>"}, "<a> is listed twice"),
        ({"pattern": CUSTOM, "regex": ""}, "Type the regex"),
        ({"pattern": CUSTOM, "regex": "(a"}, "The regex is invalid: missing ) at character 3."),
        ({"pattern": CUSTOM, "regex": "(?r)a"}, "The regex is invalid: (?r) matches from right"),
        ({"max_chars": "0"}, "maximum number of characters"),
        ({"max_chars": "1.5"}, "maximum number of characters must be a whole number above 0"),
        ({"max_doc_chars": "x"}, "maximum length of a document"),
        ({"min_count": ""}, "minimum count"),
        ({"workers": "0"}, "neither a number from 1 to 256 nor an address"),
        ({"workers": "many"}, "neither a number from 1 to 256 nor an address"),
        ({"workers": "2", "max_chars": "10k"}, "leave the limit of all characters empty"),
    ],
)
def test_what_cannot_be_done_is_said(changes: dict[str, object], said: str) -> None:
    assert said in problems(**changes)


def test_workers_take_a_limit_for_each_document() -> None:
    assert problems(workers="2", max_doc_chars="10k") == ""


def test_a_cap_makes_the_plan_smaller() -> None:
    assert make_plan(replace(VALUES, max_chars="10k"), Path("/r")).n_bytes == 10_000


@pytest.mark.parametrize(
    ("entry", "cap", "most"),
    [
        (CorpusEntry("/a", 1, 94), "", 93),
        (CorpusEntry("/a", 1, 94), "5", 19),
        (CorpusEntry("/a", 1, 9), "", 8),
        (CorpusEntry("/a", 1, 94, is_compressed=True), "", 9_743),
        (CorpusEntry("/a", None, 94), "", 9_743),
        (CorpusEntry("/a", 1, 1_000_000), "", 9_743),
    ],
)
def test_a_plan_promises_no_more_merges_than_the_text_can_give(
    entry: CorpusEntry, cap: str, most: int
) -> None:
    plan = make_plan(replace(VALUES, corpus=(entry,), max_chars=cap), Path("/r"))
    assert (plan.n_merges, plan.n_merges_wanted) == (most, 9_743)
    text = " ".join(plan_content(plan, 100, is_low=False).plain.split())
    short = ": the text is too short for 9,743" if most < 9_743 else ""
    assert f"Learns at most {most:,} merges{short} Takes" in text


def test_a_regex_with_gaps_is_said_in_the_plan() -> None:
    def note(regex: str) -> str:
        plan = make_plan(replace(VALUES, pattern=CUSTOM, regex=regex), Path("/r"))
        assert plan.problems == ()
        return " ".join(plan_content(plan, 200, is_low=False).plain.split())

    assert "Note The split pattern leaves gaps, for example '-'" in note(r"\w+|[^\w-]")
    assert "Note" not in note(r"\w+|\W")


def test_more_text_takes_longer_and_a_regex_of_ones_own_longer_still() -> None:
    def seconds(values: FormValues) -> float:
        return make_plan(values, Path("/r")).seconds

    large = replace(VALUES, corpus=(FILE._replace(n_bytes=100_000_000),))
    assert seconds(VALUES) < seconds(large) < seconds(replace(large, pattern=CUSTOM, regex="."))
    for whole in (replace(large, pattern="none"), replace(large, pattern=CUSTOM, regex="(?s).+")):
        assert seconds(whole) > 3 * seconds(large), (
            "what does not come again is merged byte by byte"
        )


def test_a_run_is_named_after_its_corpus() -> None:
    def name(source: str, size: str) -> str:
        values = replace(VALUES, corpus=(CorpusEntry(source),), vocab_size=size)
        return new_run_folder(Path("/r"), values, taken.__contains__).name

    taken = {Path("/r/a-1k"), Path("/r/a-1k-2")}
    assert name("/texts/book.txt", "512") == "book-512"
    assert name("/texts/code/**/*.py", "32,000") == "code-32k"
    assert name("/texts/\x1b;31m", "50257") == "31m-50257"
    assert name("/texts/a", "1000") == "a-1k-3"
    assert name(f"/texts/{'long' * 9}", "1000000") == "longlonglonglong-1000k"


@pytest.mark.parametrize("is_low", [True, False])
def test_a_plan_fits_its_width_and_names_the_folder(is_low: bool) -> None:
    text = plan_content(make_plan(VALUES, Path("/runs/x")), 60, is_low=is_low).plain
    assert "/runs/x" in text and "1.0 MB" in text
    assert max(map(len, text.splitlines())) <= 60


def test_sources_are_files_folders_and_globs(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("a.txt", "b.txt.gz", "sub/c.txt", ".hidden"):
        (tmp_path / name).write_bytes(b"12345")
    file = inspect_source(str(tmp_path / "a.txt"))
    assert file._replace(files=()) == CorpusEntry(str(tmp_path / "a.txt"), 1, 5)
    folder = inspect_source(str(tmp_path))
    assert (folder.n_files, folder.n_bytes, folder.is_compressed) == (3, 15, True)
    assert inspect_source(f"{tmp_path}/**/*.txt").n_files == 2
    assert inspect_source(f"{tmp_path}/*.none").error == "no file matches"
    assert "no such file" in inspect_source(f"{tmp_path}/missing").error
    assert inspect_source("/dev/null").error == "is a device or pipe, not a file"


def test_what_is_odd_about_a_corpus_is_named_before_it_is_learned(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    picture, odd = b"\x89PNG\0\0" * 99, "café ".encode("latin-1")
    for name, data in [
        ("a.txt", b"fine"), ("logo.png", picture), ("sub/old.txt", b"a " * 600_000 + odd),
        ("cut.txt", "é".encode()[:1]), ("damaged.gz", picture), ("more.jsonl", b'{"text": "\xff"}'),
        ("packed.gz", gzip.compress(picture)),
        ("packed-old.txt.gz", gzip.compress(b"a " * 9_999 + odd)),
        ("good.gz", gzip.compress("é".encode() * 9_999)),
    ]:  # fmt: skip
        (tmp_path / name).write_bytes(data)
    (tmp_path / "link.txt").symlink_to(tmp_path / "gone.txt")
    (tmp_path / "sub" / "hard.txt").hardlink_to(tmp_path / "a.txt")
    folder, glob = inspect_source(str(tmp_path)), inspect_source(f"{tmp_path}/*.png")
    again = inspect_source(str(tmp_path / "a.txt"))

    def names(files: tuple[str, ...]) -> list[str]:
        return [Path(file).name for file in files]

    assert (names(folder.left_out), names(folder.binary)) == (["logo.png"], ["packed.gz"])
    assert names(folder.not_utf8) == ["cut.txt", "more.jsonl", "packed-old.txt.gz", "old.txt"]
    assert (names(glob.left_out), names(glob.binary)) == ([], ["logo.png"])
    plan = make_plan(replace(VALUES, corpus=(folder, glob, again)), Path("/r"))
    text = " ".join(plan_content(plan, 60, is_low=False).plain.split())
    for said in (
        "Reads 9 files, 1.2 MB compressed",
        "Note 1 file looks binary and is left out: logo.png.",
        "1 dangling link left out: link.txt.",
        "2 files are named twice, but read only once.",
        "packed.gz and logo.png look binary; their bytes are learned as they are.",
        "cut.txt, more.jsonl, packed-old.txt.gz and 1 more are not UTF-8; their bytes are learned",
    ):
        assert said in text
    assert (
        make_plan(
            replace(VALUES, corpus=(inspect_source(str(tmp_path / "a.txt")),)), tmp_path
        ).notes
        == ()
    )


def test_tables_without_a_text_to_learn_are_named_before_anything_is_read(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"text": [1, 2], "body": ["a", None], "blob": [b"\0\1", b"a"], "note": [b"a", b"b"]}
    for name in ("a.parquet", "b.parquet"):
        parquet.write_table(pyarrow.table(columns), tmp_path / name)
    (tmp_path / "c.parquet").write_bytes(b"PAR1 and then something else")
    (entry,) = inspect_sources([str(tmp_path)])

    def told(field: str) -> tuple[str, ...]:
        plan = make_plan(replace(VALUES, corpus=(entry,), field=field), Path("/r"))
        *problems, broken = plan.problems
        assert broken.startswith("c.parquet: is not a readable Parquet file: ")
        return tuple(problems)

    assert told("") == ("a.parquet and b.parquet: its column 'text' is not text.",)
    assert told("title") == (
        "a.parquet and b.parquet: has no column 'title'; its columns are 'text', 'body', 'blob', "
        "'note': choose one with --field (in the app: Field, column).",
    )
    assert told("body") == told("note") == told("blob") == ()
    assert remarks([entry], "note") == []
    assert remarks([entry], "blob") == [
        "a.parquet and b.parquet look binary; their bytes are learned as they are."
    ]


def test_many_odd_files_are_counted() -> None:
    entry = FILE._replace(left_out=tuple(f"/a/{n}.png" for n in range(2_000)))
    assert remarks([entry], "text") == [
        "2,000 files look binary and are left out: 0.png, 1.png, 2.png and 1,997 more."
    ]


def test_dropped_and_typed_sources_become_full_paths(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/ann")
    assert full_source(" '/a b/c.txt' ") == "/a b/c.txt"
    assert full_source("~/x") == "/home/ann/x"
    assert full_source("*.txt") == f"{tmp_path}/*.txt"


def test_rows_fit_any_width_and_hold_nothing_a_terminal_obeys() -> None:
    entry = CorpusEntry("/a/\x1b[31m世界\u202e" * 9, 12, 5_000_000)
    merge = NumberedMerge(12_345, NewMerge(b"\x1b[31m", "世界".encode()[:4], 99_999))
    for width in range(20, 90):
        for cells in (paint_corpus_entry(entry, width), paint_merge(merge, width)):
            text = "".join(span.text for span in cells)
            assert not set(text) & {"\x1b", "\u202e"}
            assert cell_len(text) <= width


def test_merges_are_numbered_and_none_is_shown_twice() -> None:
    learning = Learning()
    merges = tuple(NewMerge(b"a", bytes([number]), 9) for number in range(98, 102))
    learning.take(REPORT._replace(n_merges=3, newest=merges[:3]))
    learning.take(REPORT._replace(n_merges=4, newest=merges[1:]))
    assert [(row.number, row.merge.right) for row in learning.newest] == [
        (4, b"e"), (3, b"d"), (2, b"c"), (1, b"b"),
    ]  # fmt: skip


def test_the_curve_begins_with_a_token_for_every_byte() -> None:
    learning = Learning()
    learning.take(REPORT._replace(phase="reading", n_merges=0, tokens_now=0))
    learning.take(REPORT._replace(n_merges=10, tokens_now=500))
    assert learning.points == [(0.0, 1.0), (10.0, 2.0)]


def test_a_long_training_keeps_its_curve_small() -> None:
    learning = Learning()
    for number in range(20_000):
        learning.take(REPORT._replace(n_merges=number + 1, tokens_now=500))
    assert len(learning.points) < 5_000
    assert learning.points[0] == (0.0, 1.0)
    assert learning.points[-1][0] == 20_000


def test_phases_show_what_is_done_what_goes_on_and_what_waits() -> None:
    learning = Learning()
    assert phases_content(learning, 40).plain.count("waiting") == 2
    learning.take(REPORT._replace(phase="reading", fraction=0.25))
    assert "25 %" in phases_content(learning, 40).plain
    learning.take(REPORT._replace(memory_bytes=70_000_000))
    lines = phases_content(learning, 40).plain.splitlines()
    assert lines[0].endswith("done") and lines[1].endswith("50 %")
    assert "3.0 s · 4.0 s left · 70 MB memory" in lines
    assert "2 of 4 merges · 30 pre-tokens" in lines
    learning.take(REPORT._replace(phase="saving", fraction=0.0, eta_seconds=None))
    lines = phases_content(learning, 40).plain.splitlines()
    assert lines[1].endswith("done") and lines[2].startswith("Saving") and lines[2].endswith(" …")


def test_the_workers_of_a_cluster_and_their_page_are_shown() -> None:
    cluster = ClusterState(2, 5, 300_000_000, "http://127.0.0.1:8787/status", 2e7)
    learning = Learning()
    reading = REPORT._replace(phase="reading", n_bytes=60_000_000, cluster=cluster)
    learning.take(TrainProgress.from_json(json.loads(json.dumps(reading.to_json()))))
    content = phases_content(learning, 60)
    assert content.plain.splitlines()[-2:] == [
        "2 workers · 5 tasks · 300 MB · 20 MB/s",
        "http://127.0.0.1:8787/status",
    ]
    assert any("open_dashboard" in str(span.style) for span in content.spans)


def test_a_summary_tells_what_it_cost_and_what_it_is_worth() -> None:
    assert summary_content(SUMMARY, 0), "a terminal of one column"
    text = summary_content(SUMMARY, 60).plain
    for said in ("300 tokens in 3.5 s", "reading 1.0 s, merging 2.5 s", "50 MB at most",
                 "·the  4 bytes", "2.50 bytes/token", "/runs/book", "2.0 kB of unseen text",
                 "this one", "GPT-2", "GPT-4", "4.50"):  # fmt: skip
        assert said in text
    assert "saving" not in text, "what took no time is not worth a word"
    assert max(cell_len(line) for line in text.splitlines()) <= 60


def test_the_folder_of_a_summary_is_broken_behind_a_slash() -> None:
    run = "/runs/of-this-week/books-and-letters"
    lines = summary_content(SUMMARY._replace(run_folder=run), 33).plain.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("Written to"))
    assert [line.strip() for line in lines[at : at + 2]] == [
        "Written to  /runs/of-this-week/",
        "books-and-letters",
    ]


def test_a_summary_names_the_files_that_paid_for_the_merges() -> None:
    files = FileShare("/texts/dist/out/app.min.js", 9, 0.61), FileShare("/texts/a.py", 0, 0.39)
    text = summary_content(SUMMARY._replace(files=files), 33).plain
    assert " 61% …/out/app.min.js\n" in text, "its end tells more"
    assert " 39% a.py\n" in text, "all are in one folder"


def test_a_file_is_left_out_by_an_entry_of_its_own() -> None:
    left_out = inspect_source(full_source("!/texts/dist/app.min.js"))
    assert "left out" in "".join(span.text for span in paint_corpus_entry(left_out, 50))
    values = replace(VALUES, corpus=(FILE, left_out))
    request = make_request(values, make_plan(values, Path("/runs/x")))
    assert request.sources == ("/texts/book.txt",)
    assert request.exclude == ("/texts/dist/app.min.js",)
    nothing = replace(VALUES, corpus=(left_out,))
    assert "Add files" in make_plan(nothing, Path("/runs/x")).problems[0]


def test_a_summary_says_what_is_odd() -> None:
    odd = SUMMARY._replace(stopped_early="no pair is left", n_merges=7, n_invalid=3, held_out=None)
    text = summary_content(odd, 60).plain
    assert "7 of 43 merges: no pair is left" in text
    assert "Merges from" not in text
    assert "3 bytes, kept unchanged" in text
    assert "not seen" not in text


def test_a_run_is_copied_whole_or_not_at_all(tmp_path: Path) -> None:
    run, target = tmp_path / "run", tmp_path / "copy"
    run.mkdir()
    (run / "tokenizer.json").write_text("{}")
    copy_run(run, target)
    assert (target / "tokenizer.json").read_text() == "{}"
    with pytest.raises(Exception, match="gone"):
        copy_run(tmp_path / "gone", tmp_path / "gone-copy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "run"]


def test_a_given_up_run_leaves_nothing_once_nobody_writes_to_it(tmp_path: Path) -> None:
    run, half = tmp_path / "run", tmp_path / ".run.abc"
    run.mkdir()
    half.mkdir()
    (tmp_path / "run.counting").mkdir()
    (tmp_path / "other").mkdir()
    answers = iter([True, True, False])
    remove_run(run, lambda: next(answers))
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
    assert next(answers, None) is None
