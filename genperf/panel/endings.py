"""Which column says how a run ended: in words, or as a switch such as `oom`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from genperf.table.cells import Cells
from genperf.table.clean import labels
from genperf.table.failures import says_failed
from genperf.vocabulary import words_of
from genperf.vocabulary.names import plain_name

_ENDINGS, _FAILED, _SUCCEEDED = (
    frozenset(words_of(f"columns.{kind}")) for kind in ("ending", "ending_failed", "ending_succeeded")
)
_ON, _OFF = (frozenset(words_of(f"cells.{switch}")) for switch in ("on", "off"))


def ending_column(columns: Mapping[str, Cells | Sequence[Any]]) -> dict[str, str]:
    """Return the option of `read_table` that tells failed runs from others: `status` or `failed`; empty without one.

    Parameters
    ----------
    columns : mapping of str to cells
        Those without a role.

    Examples
    --------
    >>> ending_column({"status": ["ok", "OOM", "ok"]}), ending_column({"oom": [0, 1, 0]})
    ({'status': 'status'}, {'failed': 'oom=1'})
    >>> ending_column({"success": ["True", "False"]}), ending_column({"status": ["ok", "ok"]})
    ({'failed': 'success=False'}, {})
    """
    for name, cells in columns.items():
        plain = plain_name(name)
        if plain not in _ENDINGS | _FAILED | _SUCCEEDED:
            continue
        values = sorted({*labels(cells).tolist()} - {""})
        for failing, words in ((_FAILED, _ON), (_SUCCEEDED, _OFF)):
            if plain in failing and {v.lower() for v in values} <= _ON | _OFF:
                failed = [v for v in values if v.lower() in words]
                if failed and len(values) > 1:
                    return {"failed": f"{name}={','.join(failed)}"}
        if plain in _ENDINGS | _FAILED and any(map(says_failed, values)):
            return {"status": name}
    return {}
