"""BPE trainers as learners write them, each with one mistake, or with several.

They share no code with `tokviz.compare.check_bpe`. `wrong` names the mistakes; the code is the
textbook's, with a dict of words or a full recount at every step.
"""

from __future__ import annotations

import re

import regex

GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
SPECIAL = "<|endoftext|>"
Merges = list[tuple[bytes, bytes]]


def train(data: bytes, n_merges: int, *wrong: str, chunk: int = 64) -> Merges:
    """Learn merges from a text with the given mistakes; ties prefer the greatest pair of bytes."""
    words = _words(data, wrong, chunk)
    if "unweighted-counts" in wrong:
        words = dict.fromkeys(words, 1)
    incremental = {"no-decrement", "old-neighbors", "counts-not-updated", "ties-insertion"}
    learn = _incremental if incremental & {*wrong} else _recounting
    return learn(words, n_merges, wrong)


def _words(data: bytes, wrong: tuple[str, ...], chunk: int) -> dict[bytes, int]:
    """Read the text and count its pre-tokens."""
    if "chunk-in-character" in wrong:
        blocks = [
            data[i : i + chunk].decode("utf-8", "replace") for i in range(0, len(data), chunk)
        ]
    else:
        errors = "ignore" if "errors-ignored" in wrong else "surrogateescape"
        text = data.decode("utf-8", errors)
        if "newline-translation" in wrong:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        if "lowercase" in wrong:
            text = text.lower()
        if "strip" in wrong:
            text = "\n".join(line.strip() for line in text.split("\n"))
        blocks = [text]
        if {"chunk-in-special", "chunk-in-pre-token"} & {*wrong}:
            blocks = [text[i : i + chunk] for i in range(0, len(text), chunk)]
    words: dict[bytes, int] = {}
    for block in blocks:
        if "merges-across-specials" in wrong:
            documents = [block.replace(SPECIAL, "")]
        elif "specials-in-corpus" in wrong:
            documents = [block]
        elif "specials-as-regex" in wrong:
            documents = re.split(SPECIAL, block)
        else:
            documents = block.split(SPECIAL)
        for document in documents:
            for word in _pre_tokens(document, wrong):
                key = word.encode("utf-8", "surrogateescape")
                words[key] = words.get(key, 0) + 1
    return words


def _pre_tokens(text: str, wrong: tuple[str, ...]) -> list[str]:
    if "no-pre-tokenization" in wrong:
        return [text]
    if "other-pattern" in wrong:
        return re.findall(r"\S+|\s+", text)
    if "re-instead-of-regex" in wrong:
        pattern = GPT2.replace(r"[^\s\p{L}\p{N}]", "[^\\sa-zA-Z0-9]")
        return re.findall(pattern.replace(r"\p{L}", "[a-zA-Z]").replace(r"\p{N}", "[0-9]"), text)
    return regex.findall(GPT2, text)


def _best(counts: dict, token: dict, wrong: tuple[str, ...]) -> tuple | None:
    counts = {pair: n for pair, n in counts.items() if n > 0}
    if not counts:
        return None
    if {"ties-first", "ties-insertion"} & {*wrong}:
        return max(counts, key=counts.get)
    if "ties-last" in wrong:
        return sorted(counts.items(), key=lambda item: item[1])[-1][0]
    most = max(counts.values())
    tied = [pair for pair in counts if counts[pair] == most]
    if "ties-smallest-id" in wrong:
        return min(tied)
    if "ties-largest-ids" in wrong:
        return max(tied)
    if "ties-smallest-bytes" in wrong:
        return min(tied, key=lambda pair: (token[pair[0]], token[pair[1]]))
    if "ties-merged-bytes" in wrong:
        return max(tied, key=lambda pair: token[pair[0]] + token[pair[1]])
    if "ties-characters" in wrong:
        return max(
            tied,
            key=lambda pair: tuple("".join(map(_GPT2_CHARS.__getitem__, token[it])) for it in pair),
        )
    return max(tied, key=lambda pair: (token[pair[0]], token[pair[1]]))


def _gpt2_chars() -> dict[int, str]:
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in visible]
    return {byte: chr(byte) for byte in visible} | {
        byte: chr(256 + number) for number, byte in enumerate(others)
    }


_GPT2_CHARS = _gpt2_chars()


def _recounting(words: dict[bytes, int], n_merges: int, wrong: tuple[str, ...]) -> Merges:
    corpus = [([*word], n) for word, n in words.items()]
    token = {byte: bytes([byte]) for byte in range(256)}
    merges: Merges = []
    while len(merges) < n_merges:
        counts: dict[tuple[int, int], int] = {}
        for ids, n in corpus:
            at = 0
            while at < len(ids) - 1:
                pair = ids[at], ids[at + 1]
                counts[pair] = counts.get(pair, 0) + n
                if "overlapping-pairs" in wrong and ids[at : at + 3] == [pair[0]] * 3:
                    at += 1
                at += 1
        pair = _best(counts, token, wrong)
        if pair is None:
            break
        new = 256 + len(merges)
        merges.append((token[pair[0]], token[pair[1]]))
        token[new] = token[pair[0]] + token[pair[1]]
        corpus = [(_merged(ids, pair, new, "right-to-left" in wrong), n) for ids, n in corpus]
    return merges


def _merged(ids: list[int], pair: tuple[int, int], new: int, backwards: bool) -> list[int]:
    ids = ids[:]
    if backwards:
        at = len(ids) - 2
        while at >= 0:
            if (ids[at], ids[at + 1]) == pair:
                ids[at : at + 2] = [new]
                at -= 1
            at -= 1
        return ids
    at = 0
    while at < len(ids) - 1:
        if (ids[at], ids[at + 1]) == pair:
            ids[at : at + 2] = [new]
        at += 1
    return ids


def _incremental(words: dict[bytes, int], n_merges: int, wrong: tuple[str, ...]) -> Merges:
    corpus = [([*word], n) for word, n in words.items()]
    token = {byte: bytes([byte]) for byte in range(256)}
    counts: dict[tuple[int, int], int] = {}

    def add(left: int, right: int, n: int) -> None:
        counts[left, right] = counts.get((left, right), 0) + n

    for ids, n in corpus:
        for at in range(len(ids) - 1):
            add(ids[at], ids[at + 1], n)
    merges: Merges = []
    while len(merges) < n_merges:
        pair = _best(counts, token, wrong)
        if pair is None:
            break
        new = 256 + len(merges)
        merges.append((token[pair[0]], token[pair[1]]))
        token[new] = token[pair[0]] + token[pair[1]]
        for index, (ids, n) in enumerate(corpus):
            after: list[int] = []
            at = 0
            while at < len(ids):
                if tuple(ids[at : at + 2]) != pair:
                    after.append(ids[at])
                    at += 1
                    continue
                before = (
                    ids[at - 1] if "old-neighbors" in wrong and at else after[-1] if after else None
                )
                if before is not None and "counts-not-updated" not in wrong:
                    if "no-decrement" not in wrong:
                        add(before, pair[0], -n)
                    add(before, new, n)
                if at + 2 < len(ids) and "counts-not-updated" not in wrong:
                    if "no-decrement" not in wrong:
                        add(pair[1], ids[at + 2], -n)
                    add(new, ids[at + 2], n)
                after.append(new)
                at += 2
            corpus[index] = after, n
        counts[pair] = 0
    return merges


def encode(
    texts: list[str], vocab: dict[int, bytes], merges: Merges, specials: list[str], wrong: str = ""
) -> list[list[int]]:
    """Encode texts as a learner's encoder does, with one mistake."""
    id_of = {token: number for number, token in vocab.items()}
    order = sorted(specials, key=len, reverse=wrong != "encode-shortest-special")
    cut = "(" + "|".join(map(re.escape, order)) + ")"
    if not specials or wrong == "encode-specials-split":
        cut = "(?!)"
    cache: dict[str, list[int]] = {}
    result = []
    for text in texts:
        ids: list[int] = []
        for part in re.split(cut, text):
            if part in specials and wrong != "encode-specials-split":
                ids.append(id_of[part.encode()])
                continue
            for word in regex.findall(GPT2, part):
                key = word.strip() if wrong == "encode-cache-key" else word
                if key not in cache:
                    cache[key] = [id_of[token] for token in _encoded(word.encode(), merges, wrong)]
                ids += cache[key]
        result.append(ids)
    return result


def _encoded(word: bytes, merges: Merges, wrong: str) -> list[bytes]:
    tokens = [bytes([byte]) for byte in word]
    if wrong == "encode-text-order":
        at = 0
        while at < len(tokens) - 1:
            if (tokens[at], tokens[at + 1]) in merges:
                tokens[at : at + 2] = [tokens[at] + tokens[at + 1]]
                at = 0
            else:
                at += 1
        return tokens
    if wrong == "encode-longest-first":
        known = {left + right for left, right in merges}
        tokens = []
        while word:
            token = max((it for it in known if word.startswith(it)), key=len, default=word[:1])
            tokens.append(token)
            word = word[len(token) :]
        return tokens
    for left, right in merges:
        at = 0
        while at < len(tokens) - 1:
            if (tokens[at], tokens[at + 1]) == (left, right):
                tokens[at : at + 2] = [left + right]
            at += 1
    return tokens


def decode(ids: list[int], vocab: dict[int, bytes]) -> str | None:
    """Decode ids token by token; None if that raises an error."""
    try:
        return "".join(vocab[number].decode() for number in ids)
    except UnicodeDecodeError:
        return None
