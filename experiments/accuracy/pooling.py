"""How well groups that were measured less far borrow from those that were measured farther.

P3: one batch of a configuration was measured to 8 devices, everything else to 32. P4: no batch of the configuration was
measured beyond 8. Asked is the time at 32 (and at 16). Each series counts once, and each is asked for with a table of
its own, in which its times beyond 8 are missing.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pandas as pd

import genperf as gp
from experiments.accuracy.scores import by_verdict, error, inside, width
from experiments.shared import markdown, page
from genperf.fitting import fit_prepared, prepared_auto

TIME = "step_time_s"
GROUP = ["config", "batch_per_device"]
ALIKE = (
    "implementation,framework,framework_version,model,precision,xla,dali,loss_scale,grad_clip,graph_kernel_fusion,"
    "loader_workers"
)
NETWORKS = ("bert", "resnet")


@dataclass(frozen=True)
class Asked:
    """A table, and what is asked of it.

    `scale` is the column of the scale, `base` where the asking series ends, `targets` what is asked. `hides` names the
    columns whose values the rows that are hidden share with the asking series: all the group's in P3, fewer in P4.
    """

    table: gp.Table
    scale: str
    base: int
    targets: tuple[int, ...]
    hides: tuple[str, ...]
    siblings: bool = False


def dlperf(alike: str = ALIKE, network: str = "", with_16: bool = False) -> gp.Table:
    """Return the series of five scales and more; borrowing at 16 changes nothing at 32 and is left out to save time."""
    where = {"bert": "model == 'bert_base'", "resnet": "model != 'bert_base'"}.get(network)
    roles = {"intrinsic": "", "extrinsic": "devices,nodes", "categorical": alike, "group": ",".join(GROUP)}
    table = gp.datasets.load("dlperf", where=where, **roles)
    enough = table.frame.groupby(GROUP).devices.transform("nunique") >= 5
    return table.take((enough & (with_16 | (table.frame.devices != 16))).to_numpy())


def predictions(asked: Asked) -> dict[int, pd.DataFrame]:
    """Predict every series that reaches the targets from a table in which it does not; a frame for each target."""
    frame = asked.table.frame
    group = list(asked.table.group)
    keys = frame.groupby(group, sort=False).ngroup().to_numpy()
    hidden = frame.groupby(list(asked.hides), sort=False).ngroup().to_numpy()
    batches = frame.groupby(list(asked.hides[:1]))[group].transform("nunique").max(axis=1).to_numpy()
    rows = []
    for k in range(keys.max() + 1):
        mine = frame[keys == k]
        if not {asked.base, *asked.targets} <= set(mine[asked.scale]):
            continue
        if asked.siblings and batches[keys == k][0] < 2:
            continue
        cut = asked.table.take(~((hidden == hidden[keys == k][0]) & (frame[asked.scale] > asked.base)).to_numpy())
        model, groups = prepared_auto(cut)
        result = fit_prepared(model, groups[tuple(str(v) for v in mine[group].iloc[0])], 0)
        for target in asked.targets:
            at = mine[mine[asked.scale] == target]
            last = mine[mine[asked.scale] == asked.base][TIME].median()
            known = {"target": target, "measured": at[TIME].median(), "last": last}
            row = result.predict(at[[f.name for f in asked.table.numeric]].head(1)).iloc[0]
            rows.append({**mine.iloc[0][group].to_dict(), **known, **row[PREDICTED].to_dict()})
    found = pd.DataFrame(rows)
    found = found.assign(error=error(found), inside=inside(found), width=width(found, "time"))
    return {target: part.reset_index(drop=True) for target, part in found.groupby("target")}


PREDICTED = ["time", "lower", "upper", "verdict"]


# --- by hand ---------------------------------------------------------------------------------------------------------


def by_hand(table: gp.Table, found: pd.DataFrame, levels: list[str], target: int, base: int = 8) -> pd.Series:
    """Add the mean change in seconds of like series: of the same config (P3), or of others alike in some columns (P4).

    Where none is alike in all the columns, the last is left out, and so on.
    """
    wide = table.frame.pivot_table(
        index=[*GROUP, *levels], columns="devices", values=TIME, aggfunc="median", observed=True
    ).reset_index()
    change = wide[target] - wide[base]
    errors = []
    for row in found.itertuples():
        me = wide[(wide.config == row.config) & (wide.batch_per_device == row.batch_per_device)].iloc[0]
        if not levels:
            like = (wide.config == me.config) & (wide.batch_per_device != me.batch_per_device)
        else:
            for depth in range(len(levels), -1, -1):
                like = (wide.config != me.config) & (wide[levels[:depth]] == me[levels[:depth]]).all(axis=1)
                if like.any():
                    break
        errors.append(100 * abs((me[base] + change[like].mean()) / me[target] - 1))
    return pd.Series(errors)


# --- tables ----------------------------------------------------------------------------------------------------------


HEAD = ["", "series", "median error, %", "mean error, %", "coverage of 90 %", "median width"]


def point(name: str, errors: pd.Series) -> list[str]:
    return [name, str(len(errors)), f"{errors.median():.2f}", f"{errors.mean():.2f}", "–", "–"]


def line(name: str, found: pd.DataFrame) -> list[str]:
    print(name, file=sys.stderr, flush=True)
    return [*point(name, found.error)[:-2], f"{100 * found.inside.mean():.1f} %", f"{found.width.median():.1f} %"]


P3 = {"hides": ("config", "batch_per_device"), "siblings": True}
P4 = {"hides": ("config",)}


def main_tables() -> list[str]:
    table = dlperf(with_16=True)
    text, all_found = [], []
    for name, kind in (("P3", P3), ("P4", P4)):
        for target, found in sorted(predictions(Asked(table, "devices", 8, (16, 32), **kind)).items(), reverse=True):
            all_found.append(found)
            rows = [line("auto, pooled", found), point("last point", error(found, "last"))]
            for levels in [[]] if name == "P3" else [["framework"], ["framework", "model", "precision"]]:
                alike = f"within {' + '.join(levels)}" if levels else "of the config's other batches"
                rows.append(point(f"by hand: the change {alike}", by_hand(table, found, levels, target)))
            bert = found.config.str.contains("bert")
            rows += [line("auto, pooled: BERT", found[bert]), line("auto, pooled: ResNet", found[~bert])]
            asks = "another batch of the config" if name == "P3" else "other configs only"
            text.append(f"## {name}, {target} devices from 8 (measured farther: {asks})\n\n{markdown(HEAD, rows)}\n")
    text.append("## Verdicts of the four tables above\n\n" + by_verdict(pd.concat(all_found), median=False) + "\n")
    return text


def fewer_tables() -> list[str]:
    """Tables cut to one network, and with fewer columns in which groups may be alike."""
    rows = []
    for network in NETWORKS:
        table = dlperf(network=network)
        for name, kind in (("P3", P3), ("P4", P4)):
            rows.append(line(f"{name}, {network} alone", predictions(Asked(table, "devices", 8, (32,), **kind))[32]))
    for alike in ("framework,model,precision", "framework", ""):
        table = dlperf(alike)
        found = predictions(Asked(table, "devices", 8, (32,), **P4))[32]
        rows.append(line(f"P4, --categorical {alike or '(none)'}", found))
    return [f"## Less to learn from (32 devices from 8)\n\n{markdown(HEAD, rows)}\n"]


def other_tables() -> list[str]:
    rows = []

    def add(name: str, found: pd.DataFrame) -> None:
        rows.extend([line(name, found), point("its last point", error(found, "last"))])

    group = ["batch_per_worker", "layers", "filters", "kernel_size", "hidden"]
    cpu = gp.datasets.load("pytorch_cpu", group=",".join(group), intrinsic="")
    for base, target in ((8, 16), (4, 16), (2, 8)):
        workers = cpu.frame.workers
        ends = workers.where(workers.isin([base, target]))
        reached = ends.groupby([cpu.frame[g] for g in group]).transform("nunique")
        table = cpu.take(((workers <= base) | (workers == target)).to_numpy() & (reached == 2).to_numpy())
        found = predictions(Asked(table, "workers", base, (target,), tuple(group)))[target]
        add(f"pytorch_cpu, {target} workers from {base}", found)
    alike = "implementation,backbone,dataset,loss,parallelism"
    roles = {"intrinsic": "", "extrinsic": "devices,nodes", "categorical": alike, "group": ",".join(GROUP)}
    face = gp.datasets.load("dlperf_insightface", **roles)
    add(
        "InsightFace, 8 devices from 1, other configs only",
        predictions(Asked(face, "devices", 1, (8,), ("config",)))[8],
    )
    return [
        "## Other tables (looked at when rules for few donors were set, and for nothing else)\n\n"
        + f"{markdown(HEAD, rows)}\n"
    ]


def run() -> str:
    """Judge P3, P4 and the other tables."""
    return page("pooling", sections="\n".join([*main_tables(), *fewer_tables(), *other_tables()]))
