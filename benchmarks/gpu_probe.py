"""What a GPU can do: the best two clusters of each row by one fused kernel, and nothing else.

Each program holds some rows and goes through all centers, tile by tile; products are as accurate
as float32 by three multiplications in TF32. It proves nothing, confirms nothing and adds up
nothing: the pass of `bckm` is measured against it. Needs PyTorch with Triton; the number of
features is a power of two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl

SHAPES = ((128, 64, 8), (64, 64, 4), (128, 128, 8), (256, 64, 8), (128, 32, 4))  # rows, tile, warps


@triton.jit
def _two_best(
    rows,
    centers,
    bias,
    label,
    gap,
    n,
    k,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    TILE: tl.constexpr,
):
    at = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    feature = tl.arange(0, D)
    inside = at < n
    x = tl.load(
        rows + at[:, None].to(tl.int64) * D + feature[None, :], mask=inside[:, None], other=0.0
    )
    least = tl.full((ROWS,), float("inf"), tl.float32)
    second = tl.full((ROWS,), float("inf"), tl.float32)
    where = tl.zeros((ROWS,), tl.int32)
    for begin in range(0, k, TILE):
        cluster = begin + tl.arange(0, TILE)
        there = cluster < k
        c = tl.load(
            centers + cluster[None, :] * D + feature[:, None], mask=there[None, :], other=0.0
        )
        b = tl.load(bias + cluster, mask=there, other=float("inf"))
        value = b[None, :] - 2.0 * tl.dot(x, c, input_precision="tf32x3")
        low = tl.min(value, axis=1)
        place = begin + tl.argmin(value, axis=1).to(tl.int32)
        others = tl.where(cluster[None, :] == place[:, None], float("inf"), value)
        second = tl.minimum(tl.minimum(second, tl.min(others, axis=1)), tl.maximum(least, low))
        where = tl.where(low < least, place, where)
        least = tl.minimum(least, low)
    tl.store(label + at, where, mask=inside)
    tl.store(gap + at, second - least, mask=inside)


def probe(rows: Any, centers: Any, prices: Any) -> tuple[Any, Callable[[int], None]]:
    """Labels, to be filled in, and what fills them in by one of `SHAPES`.

    Parameters are tensors of float32 on the GPU: (n, d), (k, d), (k,).
    """
    (n, d), k = rows.shape, len(centers)
    bias = (centers.double().square().sum(1) - prices.double()).float()
    label = torch.empty(n, dtype=torch.int32, device=rows.device)
    gap = torch.empty(n, dtype=torch.float32, device=rows.device)

    def run(shape: int) -> None:
        many, tile, warps = SHAPES[shape]
        grid = (triton.cdiv(n, many),)
        _two_best[grid](rows, centers, bias, label, gap, n, k, d, many, tile, num_warps=warps)

    return label, run
