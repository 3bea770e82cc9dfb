"""An explanation's tables as a person reads them: three digits, shares in %, the configuration once above the table."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from genperf.cli.output import show_frame
from genperf.cli.tell import tell

if TYPE_CHECKING:
    import pandas as pd


def for_people(
    frame: pd.DataFrame, settings: Collection[str], known: Mapping[str, Any] | None = None
) -> tuple[pd.DataFrame, str]:
    """Return a table to print, and the part of the configuration that is the same in all of its rows.

    Parameters
    ----------
    frame : DataFrame
        Of numbers computed at some configurations.
    settings : collection of str
        The columns that are the configuration: given numbers keep all their digits.
    known : mapping of str to value, optional
        A configuration: only its values are told above the table.

    Examples
    --------
    >>> import pandas as pd
    >>> terms = pd.DataFrame({"gpus": 8.0, "term": ["constant", "batch"], "seconds": [0.51234, 1.2]})
    >>> terms = terms.assign(share=[0.3, 0.7])
    >>> table, same = for_people(terms, ["gpus"])
    >>> print(table.to_string(index=False))
        term seconds  share
    constant   0.512 30.0 %
       batch     1.2 70.0 %
    >>> same
    'gpus=8'
    """
    from genperf.words.numbers import join_values, three_digits

    same = [name for name in settings if name in frame and len(set(frame[name])) == 1]
    if known is not None:
        same = [name for name in same if frame[name].iloc[0] == known[name]]
    shown = frame.drop(columns=same)
    for name in shown.columns:
        if name in settings or shown[name].dtype.kind != "f":
            continue
        values = shown[name].tolist()
        shown[name] = [f"{100.0 * v:.1f} %" if name == "share" else three_digits(v) for v in values]
    return shown, join_values({name: frame[name].iloc[0] for name in same})


def show_terms(terms: pd.DataFrame, settings: Collection[str], heading: str, plain: bool) -> None:
    """Print the configuration that all rows share, then the terms; those that are zero stand in one line below.

    Parameters
    ----------
    terms : DataFrame
        As `explain` returns it.
    settings : collection of str
        The columns that are the configuration.
    plain : bool
        Plain text on a terminal as well.
    """
    zero = terms.groupby("term", sort=False)["share"].agg(lambda shares: bool((shares == 0.0).all()))
    gone = [str(term) for term, nothing in zero.items() if nothing]
    shown, same = for_people(terms[~terms["term"].isin(gone)], settings)
    if same:
        tell(f"at {same}")
    show_frame(shown, heading, plain=plain)
    if gone:
        tell(f"zero here: {', '.join(gone)}")
