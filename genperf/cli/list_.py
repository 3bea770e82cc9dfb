"""`genperf list`: families of expressions, published series, published runs and bundled tables."""

from __future__ import annotations

from typing import Any, Literal

import click

from genperf.cli import decorators as shared
from genperf.cli.output import Output, show_rows, tell, tell_all


@shared.command("list")
@click.argument("what", type=click.Choice(["models", "world", "runs", "datasets"]))
@shared.shown(*shared.RESULT, shared.plot("Of the world: draw the efficiency of a doubling on each cluster"))
def list_(what: Literal["models", "world", "runs", "datasets"], out: Output) -> None:
    """List what answers rest on, each with its source.

    models: families of expressions; world: clusters whose published series show what is normal; runs: published single
    runs; datasets: the bundled tables.
    """
    {"models": _models, "world": _world, "runs": _runs, "datasets": _datasets}[what](out)


def _models(out: Output) -> None:
    """Print each family, the names of columns that are factors, and those that are phases."""
    from genperf.models import ALIASES, MODELS
    from genperf.vocabulary.names import PHASES

    phases = {phase: [f"{word}_s" for word in words] for phase, words in PHASES.items()}
    texts = ("name", "equation", "source", "purpose")
    families = [
        {name: getattr(f, name) for name in texts}
        | {"needs": list(f.requires), "uses": [*f.uses, *f.supposes], "phases": list(f.phases)}
        for f in MODELS.values()
    ]
    if out.written({"models": families, "matching": dict(ALIASES), "phases": phases}):
        return
    needs = [", ".join([*f["needs"], *(f"[{name}]" for name in f["uses"])]) or "any" for f in families]
    for family, need in zip(MODELS.values(), needs, strict=True):
        tell(f"{family.name}: {family.purpose} ({family.source})\n    {family.equation}\n    needs {need}")
    tell("\nA column is matched to a factor by its name (case does not matter), or by --map FACTOR=COLUMN:")
    tell_all(f"  {name}: {', '.join(aliases)}" for name, aliases in ALIASES.items())
    alone = ", ".join(family.name for family in MODELS.values() if family.phases)
    tell(f"\nPhases that a table measures, in seconds, are fitted each on its own column by {alone}:")
    tell_all(f"  {phase}: {', '.join(columns)}" for phase, columns in phases.items())


def _world(out: Output) -> None:
    """Print a row for each cluster of the published series."""
    from genperf import datasets, plots
    from genperf.normal.series import published

    table = datasets.world()
    grouped = table.groupby(["source", "cluster"], sort=True)
    firsts = grouped.first()
    firsts["between"] = grouped["between"].agg(lambda kinds: ", ".join(sorted(set(kinds))))
    firsts["series"], firsts["devices"] = grouped["series"].nunique(), grouped["devices"].max()
    clusters = firsts.reset_index().drop(columns=["framework", "batch", "nodes", "rate"])
    clusters["citation"] = "https://github.com/" + clusters["repository"] + "/tree/" + clusters["commit"]
    counts = {"series": int(clusters["series"].sum()), "clusters": len(clusters), "rows": len(table)}
    facts: dict[str, Any] = {**counts, "sources": sorted(set(clusters["source"])), "list": clusters.to_dict("records")}
    if not out.written(facts):
        clusters["source"] = clusters["repository"] + " @ " + clusters["commit"].str[:8]
        columns = {"devices_per_node": "a node", "devices": "to"}
        order = "cluster device devices_per_node inside between series devices licence source"
        out.frame(clusters[order.split()].replace("", None).rename(columns=columns))
        out.note(f"{counts['series']} series of {counts['clusters']} clusters, {counts['rows']} figures")
    out.draw(lambda: plots.published(published()))


def _runs(out: Output) -> None:
    """Print a row for each published run: what was trained on what, and the share of the peak that it reached."""
    from genperf import datasets

    table = datasets.runs()
    if not out.written({"runs": len(table), "list": table.to_dict("records")}):
        table["mfu"] = [f"{100.0 * share:.0f} %" for share in table["mfu"]]
        out.frame(table[["model", "device", "devices", "precision", "framework", "mfu", "licence", "source"]])


def _datasets(out: Output) -> None:
    """Print a row for each bundled table; `genperf.datasets.describe` returns where one comes from."""
    from genperf import datasets

    tables = {name: datasets.frame(name) for name in datasets.names()}
    facts = [{"name": name, "rows": len(table), "columns": list(table.columns)} for name, table in tables.items()]
    if not out.written({"datasets": facts}):
        rows = [[name, str(len(table)), ", ".join(table.columns)] for name, table in tables.items()]
        show_rows(["name", "rows", "columns"], rows)
