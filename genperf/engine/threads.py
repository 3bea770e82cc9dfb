"""One thread of linear algebra: other numbers of threads add in another order, and give other bytes."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which linear algebra uses one thread.

    On matrices as small as those of a fit, several threads are slower too.

    Examples
    --------
    >>> with one_blas_thread():
    ...     pass
    """
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited


@lru_cache(maxsize=1)
def _controller() -> Any:
    """Return what controls the threads; looking the libraries up takes milliseconds, and is done once a process."""
    # The linear algebra of scipy can be limited only once it is loaded.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
