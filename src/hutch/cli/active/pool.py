"""Where the files of a pool are scored."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext

from hutch.active.pool import Pool
from hutch.core.data.places import is_remote
from hutch.distributed.engine import Engine
from hutch.distributed.where import engine_for

WORTH = 1 << 26
"""Bytes of a pool below which starting processes takes longer than they save."""


def engine_for_pool(pool: Pool, ray: str | None) -> AbstractContextManager[Engine | None]:
    """The engine that scores a pool; None for one file, or little data.

    Args:
        pool: of files.
        ray: address of a Ray cluster; None: this machine.

    Raises:
        HutchError: Ray is not installed, or there is no cluster at that address.
    """
    if ray is not None:
        return engine_for(len(pool.sources), ray)
    known = [each.path for each in pool.sources if not is_remote(each.path)]
    much = len(known) < len(pool.sources) or sum(map(os.path.getsize, known)) >= WORTH
    return engine_for(len(pool.sources)) if len(pool.sources) > 1 and much else nullcontext()
