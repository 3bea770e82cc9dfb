"""`genperf world`: the published series with which `ask` compares an efficiency."""

from types import SimpleNamespace

from genperf.cli.output import Output, show_rows
from genperf.datasets import world
from genperf.normal.series import published
from genperf.plots import published as drawn


def run(o: SimpleNamespace, out: Output) -> None:
    """Print a line for each cluster."""
    table = world()
    grouped = table.groupby(["source", "cluster"], sort=True)
    firsts = grouped.first()
    firsts["between"] = grouped["between"].agg(lambda kinds: ", ".join(sorted(set(kinds))))
    firsts["series"], firsts["devices"] = grouped["series"].nunique(), grouped["devices"].max()
    clusters = firsts.reset_index().drop(columns=["framework", "batch", "nodes", "rate"]).to_dict("records")
    for cluster in clusters:
        cluster["citation"] = f"https://github.com/{cluster['repository']}/tree/{cluster['commit']}"
    counts = {"series": sum(c["series"] for c in clusters), "clusters": len(clusters), "rows": len(table)}
    if not out.written({**counts, "sources": sorted({c["source"] for c in clusters}), "list": clusters}):
        head = ("cluster", "device", "a node", "inside", "between", "series", "to", "licence", "source")
        keys = ("cluster", "device", "devices_per_node", "inside", "between", "series", "devices", "licence")
        rows = [[*(str(c[key]) or "–" for key in keys), f"{c['repository']} @ {c['commit'][:8]}"] for c in clusters]
        show_rows(head, rows, plain=out.no_color)
        out.note(f"{counts['series']} series of {counts['clusters']} clusters, {counts['rows']} figures")
    out.draw(lambda: drawn(published()))
