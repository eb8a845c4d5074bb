from __future__ import annotations

import random
from itertools import accumulate

from tokviz.live.chunks import BYTES, CHARS, NEWLINES, Chunk, ChunkList, TextPart
from tokviz.live.prefix_sums import BlockPlace

SIZES = {
    CHARS: lambda text: len(text),
    BYTES: lambda text: len(text.encode()),
    NEWLINES: lambda text: text.count("\n"),
}


def random_chunks(rng: random.Random, number: int) -> list[Chunk]:
    return [
        Chunk([TextPart("".join(rng.choices("aé\n", k=rng.randint(1, 5))))]) for _ in range(number)
    ]


def place_number(chunks: ChunkList, number: int) -> BlockPlace:
    return chunks.place_of(list(chunks)[number])


def assert_sums(chunks: ChunkList, expected: list[Chunk]) -> None:
    assert list(chunks) == expected
    for measure, size in SIZES.items():
        sums = list(accumulate((size(chunk.text) for chunk in expected), initial=0))
        assert chunks.total(measure) == sums[-1]
        for number, chunk in enumerate(expected):
            place = chunks.place_of(chunk)
            assert chunks.item(place) is chunk
            assert chunks.start(place, measure) == sums[number]
            if sums[number] < sums[number + 1]:
                assert chunks.locate(measure, sums[number]) == place
                assert chunks.locate(measure, sums[number + 1] - 1) == place


def test_sums_and_places_after_every_splice() -> None:
    for seed in range(6):
        rng = random.Random(seed)
        expected = random_chunks(rng, rng.choice([1, 5, 300, 700]))
        chunks = ChunkList(expected)
        assert_sums(chunks, expected)
        for _ in range(6):
            first, last = sorted(rng.choices(range(len(expected)), k=2))
            if rng.random() < 0.5:
                last = min(first + 2, last)
            new = random_chunks(rng, rng.choice([1, 1, 3, 400]))
            places = place_number(chunks, first), place_number(chunks, last)
            assert list(chunks.between(*places)) == expected[first : last + 1]
            chunks.splice(*places, new)
            assert all(chunk.block is None for chunk in expected[first : last + 1])
            expected = expected[:first] + new + expected[last + 1 :]
            assert_sums(chunks, expected)


def test_neighbours_are_found_across_blocks() -> None:
    expected = random_chunks(random.Random(0), 300)
    chunks = ChunkList(expected)
    for number, chunk in enumerate(expected):
        before = expected[number - 1] if number else None
        behind = expected[number + 1] if number + 1 < len(expected) else None
        assert chunks.neighbours(chunk) == (before, behind)


def test_walks_go_both_ways_from_any_place() -> None:
    expected = random_chunks(random.Random(0), 300)
    chunks = ChunkList(expected)
    for number in (0, 1, 127, 128, 129, 299):
        place = chunks.place_of(expected[number])
        assert list(chunks.walk(place)) == expected[number:]
        assert list(chunks.walk_back(place)) == expected[:number][::-1]


def test_an_offset_after_the_end_is_in_the_last_chunk() -> None:
    expected = random_chunks(random.Random(0), 300)
    chunks = ChunkList(expected)
    last = chunks.place_of(expected[-1])
    assert chunks.locate(CHARS, chunks.total(CHARS)) == last
    assert chunks.locate(CHARS, chunks.total(CHARS) + 7) == last


def test_many_small_removals_leave_no_trail_of_tiny_blocks() -> None:
    expected = random_chunks(random.Random(0), 128 * 20)
    chunks = ChunkList(expected)
    survivors = expected[::64]
    for start in range(0, len(expected), 64):
        first, last = (chunks.place_of(expected[start + k]) for k in (1, 63))
        chunks.splice(first, last, [])
    assert list(chunks) == survivors
    assert len({id(chunk.block) for chunk in survivors}) <= 3
