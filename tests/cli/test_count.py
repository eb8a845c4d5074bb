from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reference import tiktoken_encoding


def test_counts_are_tokens_characters_bytes_and_their_ratio(tokviz, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("naïve world")
    # "na", "ï", "ve", " world"
    assert tokviz("count", file).text.split() == ["4", "11", "12", "3.00", str(file)]


def test_standard_input_alone_has_no_name(tokviz):
    assert tokviz("count", stdin=b"hello world").text.split() == ["2", "11", "11", "5.50"]


def test_several_inputs_get_a_total(tokviz, tmp_path):
    (tmp_path / "a").write_text("hello")
    (tmp_path / "b").write_text("hello world")
    lines = tokviz("count", tmp_path / "a", "-", tmp_path / "b", stdin=b" world").text.splitlines()
    assert [line.split() for line in lines] == [
        ["1", "5", "5", "5.00", str(tmp_path / "a")],
        ["1", "6", "6", "6.00", "-"],
        ["2", "11", "11", "5.50", str(tmp_path / "b")],
        ["4", "22", "22", "5.50", "total"],
    ]


def test_an_empty_input_has_no_ratio(tokviz):
    assert tokviz("count").text.split() == ["0", "0", "0", "-"]
    assert json.loads(tokviz("count", "--json").out)["bytes_per_token"] is None


def test_a_byte_that_is_not_utf8_is_one_character(tokviz):
    record = json.loads(tokviz("count", "--json", stdin=b"a\xff\xe4\xb8").out)
    assert (record["n_chars"], record["n_bytes"]) == (4, 4)


def test_json_is_one_object_an_input_without_a_total(tokviz, tmp_path):
    (tmp_path / "a").write_text("hello world")
    lines = tokviz("count", "--json", "-t", "gpt2", tmp_path / "a", "-").text.splitlines()
    records = [json.loads(line) for line in lines]
    assert records == [
        {
            "file": str(tmp_path / "a"),
            "tokenizer": "gpt2",
            "specials": "parsed",
            "n_tokens": 2,
            "n_chars": 11,
            "n_bytes": 11,
            "bytes_per_token": 5.5,
        },
        {
            "file": "-",
            "tokenizer": "gpt2",
            "specials": "parsed",
            "n_tokens": 0,
            "n_chars": 0,
            "n_bytes": 0,
            "bytes_per_token": None,
        },
    ]


def test_a_bad_file_does_not_keep_the_others_from_being_counted(tokviz, tmp_path):
    (tmp_path / "good").write_text("hello world")
    result = tokviz("count", tmp_path / "none", tmp_path / "good")
    assert result.code == 2
    assert result.err == f"tokviz: {tmp_path}/none: there is no such file\n"
    assert result.text.splitlines()[0].split()[-1] == str(tmp_path / "good")
    assert result.text.splitlines()[-1].split() == ["2", "11", "11", "5.50", "total"]


def test_on_a_terminal_the_columns_have_names(tokviz_on_terminal, tokviz):
    first, second, _ = tokviz_on_terminal("count", stdin=b"hello").decode().split("\r\n")
    assert first.split() == ["tokens", "chars", "bytes", "bytes/token", "(cl100k_base)"]
    assert second.split() == ["1", "5", "5", "5.00"]
    assert "tokens" not in tokviz("count", stdin=b"hello").text


def test_a_file_name_cannot_send_an_escape_sequence(tokviz, tmp_path):
    (tmp_path / "a\x1b[31m\nb").write_text("hello")
    result = tokviz("count", tmp_path / "a\x1b[31m\nb", tmp_path / "c\x1b]0;x\x07")
    assert "\x1b" not in result.text + result.err
    assert len(result.text.splitlines()) == 2
    assert len(result.err.splitlines()) == 1


def test_costs_come_from_the_users_own_table(tokviz, tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_text("hello world")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    done = tokviz("count", "--cost", path)
    assert done.code == 2 and "there is no price table" in done.err and "models.toml" in done.err
    assert "tokviz config prices" in done.err
    table = tmp_path / "tokviz" / "models.toml"
    table.parent.mkdir()
    table.write_text('[[model]]\nname = "m"\nwindow = 8\nprice = 2.5\ncurrency = "EUR"\n')
    assert "m  0.0000050 EUR, 25 % of 8" in tokviz("count", "--cost", path).text
    (record,) = map(json.loads, tokviz("count", "--cost", "--json", path).text.splitlines())
    assert record["costs"] == [
        {"model": "m", "cost": 5e-6, "currency": "EUR", "window": 8, "window_share": 0.25}
    ]
    assert "costs" not in json.loads(tokviz("count", "--json", path).text)
    *files, total, cost = tokviz("count", "--cost", path, path).text.splitlines()
    assert (total.split()[0], cost.split()[1]) == ("4", "0.000010")
    assert len(files) == 2, "costs only of the total"
    table.write_text('[[model]]\nname = "m"\nwindow = -1\n')
    done = tokviz("count", "--cost", path)
    assert done.code == 2 and "line 3: window" in done.err


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with files that are counted and files that are skipped."""
    root = tmp_path / "project"
    for name, text in {
        "readme.md": "hello world",
        "src/a.py": "def f(x):\n    return x\n",
        "src/deep/b.py": "naïve café 🙂\r\n",
        "src/deep/b.log": "ignored",
        "src/keep.log": "kept",
        "build/out.txt": "ignored folder",
        ".hidden": "hidden",
        "empty": "",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode())
    (root / ".git").mkdir()
    (root / ".gitignore").write_text("*.log\nbuild/\n")
    (root / "src/.gitignore").write_text("!keep.log\n")
    (root / "picture.gif").write_bytes(b"GIF89a\0\x01\xff")
    (root / "loop").symlink_to(root)
    return root


READ = ["empty", "readme.md", "src/a.py", "src/keep.log", "src/deep/b.py"]


def test_a_folder_is_counted_as_git_sees_it(tokviz, project):
    done = tokviz("count", project)
    names = [line.split()[-1] for line in done.text.splitlines()]
    assert names == [*(str(project / name) for name in READ), "total"]
    assert done.code == 0
    skipped = "1 binary file, 4 hidden, 2 in .gitignore, 1 link skipped"
    assert done.err == f"tokviz: {skipped} (--all reads all but links and special files)\n"


def test_the_total_is_the_sum_of_tiktokens_counts(tokviz, project):
    encoding = tiktoken_encoding("o200k_base")
    texts = [(project / name).read_bytes().decode() for name in READ]
    expected = sum(len(encoding.encode(text, allowed_special="all")) for text in texts)
    total = tokviz("count", "-t", "gpt-4o", project).text.splitlines()[-1]
    assert total.split() == [
        str(expected),
        str(sum(map(len, texts))),
        str(sum(len(text.encode()) for text in texts)),
        f"{sum(len(text.encode()) for text in texts) / expected:.2f}",
        "total",
    ]


def test_rules_of_the_repository_apply_in_its_subfolders(tokviz, project):
    (project / ".git/info").mkdir()
    (project / ".git/info/exclude").write_text("a.py\n")
    done = tokviz("count", "src", cwd=project)
    names = [line.split()[-1] for line in done.text.splitlines()]
    assert names == ["src/keep.log", "src/deep/b.py", "total"]


def test_all_reads_what_is_skipped_otherwise(tokviz, project):
    names = tokviz("count", "--all", project).text
    for name in ("build/out.txt", ".hidden", "b.log", "picture.gif", ".gitignore"):
        assert name in names
    assert "loop/" not in names


def test_a_single_binary_file_is_counted_and_one_of_several_is_not(tokviz, project):
    gif = project / "picture.gif"
    assert tokviz("count", gif).text.split()[-1] == str(gif)
    done = tokviz("count", gif, project / "readme.md")
    assert str(gif) not in done.text and "1 binary file skipped" in done.err


def test_globs_and_excluded_files(tokviz, project):
    done = tokviz("count", "**/*.py", "--exclude", "a.py", cwd=project)
    assert [line.split()[-1] for line in done.text.splitlines()] == ["src/deep/b.py", "total"]
    done = tokviz("count", "*.nothing", cwd=project)
    assert (done.code, done.text, done.err) == (2, "", "tokviz: *.nothing: matches no file\n")


def test_paths_come_from_a_file_or_a_pipe(tokviz, project):
    names = [str(project / name) for name in READ]
    (project / "list").write_text("\n".join(names))
    by_file = tokviz("count", "--files-from", project / "list")
    assert [line.split()[-1] for line in by_file.text.splitlines()] == [*names, "total"]
    piped = "\0".join(names).encode()
    assert tokviz("count", "--files-from", "-", "-0", stdin=piped).text == by_file.text


def test_several_tokenizers_have_a_column_each(tokviz, project):
    lines = tokviz("count", "-t", "gpt2", "-t", "gpt-4", project).text.splitlines()
    assert lines[0].split() == ["gpt2", "cl100k_base", "chars", "bytes"]
    for number, name in enumerate(("gpt2", "gpt-4")):
        alone = tokviz("count", "-t", name, project).text.splitlines()
        assert [line.split()[number] for line in lines[1:]] == [line.split()[0] for line in alone]
    files = [project / "src/a.py"]
    done = tokviz("count", "--json", "-t", "gpt2", "-t", "gpt-4", *files)
    records = [json.loads(line) for line in done.text.splitlines()]
    assert [(one["tokenizer"], one["n_tokens"]) for one in records] == [
        ("gpt2", 12),
        ("cl100k_base", 8),
    ]


def test_the_tree_sums_folders(tokviz, project):
    by_file = tokviz("count", "--json", project).text.splitlines()
    counts = {one["file"]: one["n_tokens"] for one in map(json.loads, by_file)}
    inside = [n for file, n in counts.items() if file.startswith(f"{project}/src/")]
    lines = [line.split() for line in tokviz("count", "--tree", project).text.splitlines()]
    assert lines[0] == [str(sum(counts.values())), "5", "project"]
    assert lines[1] == [str(sum(inside)), "3", "src"]
    assert [line[2] for line in lines] == ["project", "src", "deep"]
    top = tokviz("count", "--tree", "--top", "2", "--json", project).text.splitlines()
    folders = [json.loads(line) for line in top]
    assert [(one["folder"], one["n_files"]) for one in folders] == [
        (str(project), 5),
        (f"{project}/src", 3),
    ]


def test_files_are_sorted_and_cut_off(tokviz, project):
    done = tokviz("count", "--sort", "bytes", "--top", "2", project)
    names = [line.split()[-1] for line in done.text.splitlines()]
    assert names == [str(project / "src/a.py"), str(project / "src/deep/b.py"), "total"]


def test_a_budget_is_a_check_that_lists_the_largest_files(tokviz, project):
    within = tokviz("count", "--budget", "1000", project)
    assert within.code == 0
    assert within.text.splitlines()[0].split()[-1] == "total"
    over = tokviz("count", "--budget", "10", "--top", "1", project)
    assert over.code == 1
    assert [line.split()[-1] for line in over.text.splitlines()] == [
        str(project / "src/a.py"),
        "total",
    ]
    assert "over budget: 17 tokens of 10 (cl100k_base)" in over.err
    missing = tokviz("count", "--budget", "10", project, project / "no.txt")
    assert missing.code == 2, "an error is more than a finding"


def test_documents_of_corpus_files_are_counted_one_by_one(tokviz, tmp_path):
    gzip = pytest.importorskip("gzip")
    zstandard = pytest.importorskip("zstandard")
    rows = [{"text": "hello world", "more": "x"}, {"text": " hello"}]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    (tmp_path / "a.jsonl").write_bytes(lines)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(lines))
    (tmp_path / "c.txt.zst").write_bytes(zstandard.compress(b"hello world"))
    done = tokviz("count", "--field", "text", tmp_path)
    assert [line.split()[0] for line in done.text.splitlines()] == ["3", "3", "2", "8"]
    plain = tokviz("count", tmp_path / "a.jsonl").text.split()
    assert plain[2] == str(len(lines)), "without --field, all of the file is text"
    assert tokviz("count", "--field", "text", stdin=lines).text.split()[0] == "3"
    wrong = tokviz("count", "--field", "nothing", tmp_path / "a.jsonl")
    assert wrong.code == 2 and "line 1 has no field 'nothing'" in wrong.err


def test_what_cannot_be_read_is_reported_and_the_rest_counted(tokviz, tmp_path):
    (tmp_path / "good").write_text("hello world")
    (tmp_path / "bad.gz").write_bytes(b"\x1f\x8b damaged")
    (tmp_path / "itself").symlink_to("itself")
    done = tokviz("count", tmp_path, tmp_path / "itself")
    assert done.code == 2
    assert f"tokviz: {tmp_path}/bad.gz: " in done.err
    assert f"tokviz: {tmp_path}/itself: " in done.err
    assert "1 link skipped" in done.err
    assert done.text.splitlines()[-1].split() == ["2", "11", "11", "5.50", "total"]


def test_a_deep_folder_is_no_problem(tokviz, tmp_path):
    steps = "import os\nfor _ in range(1100): os.mkdir('d'); os.chdir('d')\nopen('f', 'w')"
    subprocess.run([sys.executable, "-c", steps], check=True, cwd=tmp_path)
    try:
        done = tokviz("count", "--tree", "d", cwd=tmp_path)
    finally:
        subprocess.run(["rm", "-rf", tmp_path / "d"], check=True)
    assert done.code == 0, done.err
    assert len(done.text.splitlines()) == 1100


def test_a_large_file_and_many_documents_are_counted_as_one_by_one(tokviz, tmp_path):
    text = "It's the naïve 你好 world, 1234 <|endoftext|>\r\n" * 60_000
    (tmp_path / "large.txt").write_text(text, newline="")
    rows = [json.dumps({"text": f"hello {n}"}) for n in range(3000)]
    (tmp_path / "many.jsonl").write_text("\n".join(rows))
    names = ["gpt2", "cl100k_base"]
    encodings = [tiktoken_encoding(name) for name in names]
    done = tokviz("count", "--field", "text", "-t", "gpt2", "-t", "gpt-4", *tmp_path.iterdir())
    counts = {line.split()[-1]: line.split()[:2] for line in done.text.splitlines()[1:]}
    for number, encoding in enumerate(encodings):
        large = len(encoding.encode(text, allowed_special="all"))
        many = sum(len(encoding.encode(f"hello {n}")) for n in range(3000))
        assert counts[str(tmp_path / "large.txt")][number] == str(large)
        assert counts[str(tmp_path / "many.jsonl")][number] == str(many)


def test_patterns_that_cannot_be_used_are_reported_and_freeze_nothing(tokviz, tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    (tmp_path / ("a" * 250)).write_text("hello")
    (tmp_path / ".gitignore").write_text("*a" * 30 + "b\nsecret\n")
    (tmp_path / "secret").write_text("ignored")
    os.mkfifo(tmp_path / "sub/.gitignore")
    (tmp_path / "sub/text").write_text("hello")
    done = tokviz("count", tmp_path)
    assert done.code == 2
    assert "a pattern with more than 3 wildcards is not applied" in done.err
    assert f"{tmp_path}/sub/.gitignore: is a pipe" in done.err
    assert done.text.splitlines()[-1].split()[0] == "2"
