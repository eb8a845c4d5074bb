"""How much text is enough: which of the merges a part of the corpus gives, too."""

from __future__ import annotations

from collections.abc import Sequence

from tokviz.bpe.approximate import sampled
from tokviz.bpe.compiled_trainer import CompiledTrainer
from tokviz.bpe.engines import PythonTrainer, is_small
from tokviz.bpe.run import TrainingRun
from tokviz.bpe.ties import get_tie_break
from tokviz.sentences import counted

SHARES = (0.01, 0.1)


def convergence(run: TrainingRun, shares: Sequence[float] = SHARES) -> list[int]:
    """Count the tokens that were learned which samples of the corpus give, too.

    A sample holds each occurrence of a piece with the same probability.
    """
    learned = {left + right for left, right in run.tokenizer.merges}
    found = []
    for share in shares:
        pieces = sampled(run.piece_counts, share)
        in_python = get_tie_break(run.settings.tie_break).compiled is None
        kind = PythonTrainer if in_python or is_small(pieces, len(learned)) else CompiledTrainer
        engine = kind(pieces, run.settings)
        while not engine.advance(1.0):
            pass
        tokens = [bytes([byte]) for byte in range(256)]
        for left, right, _ in engine.merges_from(0):
            tokens.append(tokens[left] + tokens[right])
        found.append(len(learned & {*tokens[256:]}))
    return found


def convergence_lines(run: TrainingRun) -> list[str]:
    """Say it in sentences."""
    n = len(run.history)
    return [
        f"a sample of {share:.0%} of the text gives {n_found:,} of the {counted(n, 'merged token')}"
        for share, n_found in zip(SHARES, convergence(run), strict=True)
    ]
