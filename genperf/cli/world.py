"""`genperf world`: the published series with which `ask` compares an efficiency."""

from genperf.cli import decorators as shared
from genperf.cli.output import Output, show_rows


@shared.command("world")
@shared.shown(*shared.RESULT, shared.plot("Draw the efficiency of a doubling on each cluster"))
def world(out: Output) -> None:
    """List the clusters whose published series show what is normal, with the source and licence of each."""
    from genperf import datasets, plots
    from genperf.normal.series import published

    table = datasets.world()
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
    out.draw(lambda: plots.published(published()))
