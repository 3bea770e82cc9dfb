"""One machine and its work: from whatever is named of them to every part of both.

    devices n = nodes m · devices of a node p = Π ways (data d, tensor, pipeline, context),   m = ⌈n/p⌉
    samples of a step W = batch of a device b · n = micro-batch · passes · d

What was named is fixed. What is left open goes on as it was measured: a node is filled before the next begins, the ways
beside data stay, and the samples of a step grow with the devices, or stay, as they did in every run.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from msgspec import Struct

from genperf.arrays import AnyArray, Array, Columns, Mask
from genperf.errors import TableError
from genperf.vocabulary.names import IN_TOKENS, LEVELS, WAYS, is_batch_of_a_node, meant_by

if TYPE_CHECKING:
    from genperf.table import Factor

#: Parts of a machine, and of the work of a step. Experts are split over the data-parallel ways, or have their own.
SPLITS = (*WAYS[1:], "expert_parallel")
#: With those that no column has: `Machine.further_ways`.
BESIDE_DATA = (*SPLITS, "further_ways")
ALL_WAYS = (WAYS[0], *SPLITS)
PLACES = (*LEVELS, "devices_per_node", *ALL_WAYS)
BATCHES = ("batch", "global_batch", "micro_batch", "micro_batches")
PARTS = PLACES + BATCHES
#: How the samples of a step go on along the devices: in proportion to them, or the same at every count.
Growth = Literal["weak", "strong"]
#: Relative differences up to which numbers are one: rounding errors.
SAME = 1e-9
#: The exponent of the samples of a step over the devices above which they grew almost in proportion: nearer to
#: proportional ones than to the same ones at every count.
LEAST_SAMPLES_GROWTH = 0.5

#: Devices that one node may hold although fewer were measured, where no run went beyond one count of nodes: those of
#: most servers.
USUAL_DEVICES = 8.0

Parts = Mapping[str, Array]


def is_a_part(name: str, columns: Collection[str]) -> bool:
    """Tell whether a name means a part of the machine that columns of other parts may show: `nodes` beside `gpus`."""
    meaning, meanings = meant_by(name), {meant_by(column) for column in columns}
    if meaning in BATCHES:
        return not meanings.isdisjoint(BATCHES) or any(map(is_batch_of_a_node, columns))
    return meaning in (*LEVELS, "devices_per_node", "data_parallel") and not meanings.isdisjoint(PLACES)


def rises_with(values: AnyArray, others: AnyArray) -> bool:
    """Tell whether each of `others` has one value, never falling as they rise: nodes 1, 1, 2 of devices 4, 8, 16."""
    levels = sorted({*zip(others.tolist(), values.tolist(), strict=True)})
    return all(low != high and of_low <= of_high for (low, of_low), (high, of_high) in itertools.pairwise(levels))


def further_ways_of(devices: AnyArray, product: AnyArray) -> float:
    """Return the ways that no column has, devices/product: one if in any run, else the number of all, or zero."""
    is_positive = np.isfinite(devices) & (product > 0.0)
    further = devices[is_positive] / product[is_positive]
    if np.any(np.isclose(further, 1.0, rtol=SAME)):
        return 1.0
    agree = len(further) > 1 and np.ptp(further) <= SAME * further[0]
    return float(further[0]) if agree and further[0] > 1.0 and further[0] % 1.0 == 0.0 else 0.0


def product_of(parts: Parts, names: Collection[str] = BESIDE_DATA) -> Array:
    """Return the product of some parts, by default the ways beside data, those that are there; ones where none is."""
    rows = len(next(iter(parts.values()), ()))
    return np.asarray(np.prod([np.ones(rows), *(parts[name] for name in names if name in parts)], axis=0))


def _unequal(stated: Array, expected: Array) -> list[int]:
    """Return the rows in which what is stated is not what is expected."""
    return np.flatnonzero(~np.isclose(stated, expected, rtol=SAME)).tolist()


class Machine(Struct, frozen=True, dict=True):
    """The parts of a machine and of its work that the columns of a table hold, and how each follows from others."""

    #: The columns that have one of the field's names, by it; all of the table.
    named: Mapping[str, Factor]
    factors: tuple[Factor, ...]
    runs: Sequence[Mapping[str, Any]] = ()  #: The measured configurations, each with its factors by name.
    derived: Collection[str] = ()  #: Columns that are computed from others.
    passes: bool = False  #: Whether the batch is that of one pass (`Panel.batch_is_of_a_pass`).

    @cached_property
    def columns(self) -> dict[str, Factor]:
        """Part → the column that is it, {"workers": `gpus`}; a column that could be two parts is one of them."""
        columns = {name: factor for name in PARTS if (factor := self.named.get(name)) is not None}
        if self.passes:
            columns.pop("batch", None)
        elif columns.get("batch") == columns.get("micro_batch"):
            columns.pop("micro_batch", None)
        if columns.get("workers") is not None and columns.get("workers") == columns.get("data_parallel"):
            columns.pop("workers" if any(name in columns for name in SPLITS) else "data_parallel")
        experts = columns.pop("expert_parallel", None)
        if {"workers", "data_parallel"} <= {*columns} and self.runs and (further := self._further(columns)) != 1.0:
            # Experts have ways of their own, or the devices are split in a further way that no column has.
            with_experts = columns if experts is None else columns | {"expert_parallel": experts}
            if self._further(with_experts) == 1.0:
                return with_experts
            return columns if further else {n: factor for n, factor in columns.items() if n not in ALL_WAYS}
        return columns

    def _further(self, columns: Mapping[str, Factor]) -> float:
        """Return how many ways the devices of the runs have beside those of some columns: see `further_ways_of`."""
        names = [columns["workers"].name, *(f.name for name, f in columns.items() if name in ALL_WAYS)]
        devices, *ways = (np.array([run[name] for run in self.runs]) for name in names)
        return further_ways_of(devices, np.prod(ways, axis=0))

    @cached_property
    def further_ways(self) -> float:
        """The ways that no column has and every run had, as in 4·PP·DP devices; one where the columns have all."""
        return self._further(self.columns) if {"workers", "data_parallel"} <= {*self.columns} and self.runs else 1.0

    @cached_property
    def part_of(self) -> dict[str, str]:
        """Name of each of these columns → its part: {"gpus": "workers"}."""
        return {factor.name: part for part, factor in self.columns.items()}

    @property
    def splits(self) -> list[str]:
        """The ways beside data that have a column."""
        return [name for name in SPLITS if name in self.columns]

    @cached_property
    def splits_divide(self) -> bool:
        """Whether the ways beside data divide the devices of every run: those of another count are no machine."""
        runs = self.measured
        return not {*BESIDE_DATA}.isdisjoint(runs) and bool(np.all(runs["workers"] % product_of(runs) == 0.0))

    @cached_property
    def has_data_ways(self) -> bool:
        """Whether devices may be split over data too: not where the tensor, pipeline and other ways make them all."""
        workers = self.columns.get("workers")
        derived = workers is not None and workers.name in self.derived
        return "data_parallel" in self.columns or not (derived or workers is None) or not self.splits

    @cached_property
    def counts_devices(self) -> bool:
        """Whether the columns show the number of devices."""
        placed = {"nodes", "devices_per_node"} <= {*self.columns}
        return placed or not {"workers", *ALL_WAYS}.isdisjoint(self.columns)

    def means(self, name: str) -> bool:
        """Tell whether a part of the machine that has no column follows from the columns of others."""
        if name in LEVELS or name in ("devices_per_node", "data_parallel"):
            return self.counts_devices or "nodes" in self.columns
        shows_samples = "batch" in self.columns or {"micro_batch", "micro_batches"} <= {*self.columns}
        return name in ("batch", "global_batch") and (shows_samples or "global_batch" in self.columns)

    def parts_of(self, columns: Columns) -> dict[str, Array]:
        """Return the parts by name of configurations, from their columns, with the devices and samples of a step."""
        out = {name: np.asarray(columns[f.name], float) for name, f in self.columns.items() if f.name in columns}
        sequence = self.named.get("sequence")
        if sequence is not None and sequence.name in columns and IN_TOKENS.search(self.part_name("global_batch")):
            out["sequence"] = np.asarray(columns[sequence.name], float)
        if "data_parallel" in out and self.further_ways > 1.0:
            out["further_ways"] = np.full_like(out["data_parallel"], self.further_ways)
        if "workers" not in out:
            if {"nodes", "devices_per_node"} <= {*out}:
                out["workers"] = out["nodes"] * out["devices_per_node"]
            elif not out.keys().isdisjoint(ALL_WAYS):
                out["workers"] = product_of(out, ("data_parallel", *BESIDE_DATA))
        if "workers" in out:
            out.setdefault("data_parallel", out["workers"] / product_of(out))
        count = out.get("workers", out.get("nodes"))
        if "global_batch" not in out and "batch" in out and count is not None:
            out["global_batch"] = out["batch"] * count
        elif "global_batch" not in out and {"micro_batch", "micro_batches", "data_parallel"} <= {*out}:
            out["global_batch"] = out["micro_batch"] * out["micro_batches"] * out["data_parallel"]
        return out

    @cached_property
    def measured(self) -> dict[str, Array]:
        """The parts of the measured runs by name, {"workers": [1, 2, 4, 8]}; {} where no runs are known."""
        if not self.runs:
            return {}
        return self.parts_of({f.name: np.array([run[f.name] for run in self.runs]) for f in self.factors})

    @cached_property
    def growths(self) -> tuple[list[str], dict[tuple[str, ...], Growth | None]]:
        """The factors beside machine and work, and by their levels how the samples of a step grew in such runs.

        Along the devices, or the nodes, they are in proportion (weak) or the same (strong); None where neither. Batches
        of a pass that were tried beside each other are among the factors where they hide it.
        """
        placed = {f.name for n, f in self.columns.items() if n not in SPLITS} | {*self.derived}
        names = [f.name for f in self.factors if f.name not in placed]
        runs, growths = self.measured, dict[tuple[str, ...], Growth | None]()
        counts, work, of_pass = runs.get("workers", runs.get("nodes")), runs.get("global_batch"), "micro_batch"
        if counts is None or work is None:
            return names, growths
        for further in ([], [self.columns[of_pass].name] if of_pass in self.columns else []):
            if growths and None not in growths.values():
                break
            names, growths, rows_alike = [*names, *further], {}, dict[tuple[str, ...], list[int]]()
            for row, run in enumerate(self.runs):
                rows_alike.setdefault(tuple(str(run[name]) for name in names), []).append(row)
            for key, rows in rows_alike.items():
                if np.ptp(counts[rows]) > 0.0:
                    samples = work[rows]
                    # All equal but for rounding errors: the samples of a step, or those of a device.
                    of_one = samples / counts[rows]
                    stays, grows = (np.ptp(amounts) <= SAME * np.max(amounts) for amounts in (samples, of_one))
                    changes: Growth | None = "weak" if grows or self.tries_batches else None
                    growths[key] = "strong" if stays else changes
        return names, growths

    @cached_property
    def tries_batches(self) -> bool:
        """Whether a column of the batch of all grew with the count as several batches of a device do, tried at each."""
        counts, work = self.measured.get("workers", self.measured.get("nodes")), self.measured.get("global_batch")
        if "global_batch" not in self.columns or counts is None or work is None:
            return False
        of_one, of_all = (
            {tuple(np.unique(values[counts == count].round(9)).tolist()) for count in np.unique(counts)}
            for values in (work / counts, work)
        )
        return len(of_one) == 1 < len(next(iter(of_one))) and len(of_all) > 1

    @cached_property
    def growth(self) -> Growth | None:
        """How the samples of a step went on along the devices (or nodes) of all runs; None where neither way."""
        kinds = {*self.growths[1].values()}
        kind = kinds.pop() if len(kinds) == 1 else None
        return "weak" if kind is None and self.samples_of_one is not None else kind

    def grows_like(self, columns: Columns) -> Mask | None:
        """Return for which configurations the samples of a step grow with the count, as in runs alike (`growths`).

        Where such runs show nothing, it is as in the others if these agree; else a batch of a device makes them grow,
        and one of all keeps them. None where no runs show anything.
        """
        names, growths = self.growths
        shown_growths = {*growths.values()} - {None}
        if not shown_growths:
            return None
        by_batch = "weak" if "batch" in self.columns else "strong"
        usual = shown_growths.pop() if len(shown_growths) == 1 else by_batch
        settings = zip(*(np.asarray(columns[name]).tolist() for name in names), strict=True)
        return np.array([(growths.get(tuple(map(str, setting))) or usual) == "weak" for setting in settings])

    @cached_property
    def samples_of_one(self) -> tuple[Array, Array] | None:
        """Ascending counts and one worker's samples at each, of a global batch that grew almost with the count.

        None where it grew exactly so, or far less, or fell, or differed at one count.
        """
        runs = self.measured
        count, work = runs.get("workers", runs.get("nodes")), runs.get("global_batch")
        if "global_batch" not in self.columns or count is None or work is None or not rises_with(work, count):
            return None
        counts, place = np.unique(count, return_index=True)
        if len(counts) < 2 or min(counts[0], work.min()) <= 0.0:
            return None
        of_one, exponent = work[place] / counts, np.polyfit(np.log(counts), np.log(work[place]), 1)[0]
        proportional = np.ptp(of_one) <= SAME * np.max(of_one)
        return None if proportional or exponent <= LEAST_SAMPLES_GROWTH + SAME else (counts, of_one)

    def size(self, like: Mapping[str, Any] | None = None, as_it_is: bool = False) -> float | None:
        """Return the devices of a full node, as in the largest run, or the largest of those `like` a configuration.

        A column of the devices of a node that never varies decides. Where all runs had one count of nodes, a node holds
        `USUAL_DEVICES` at least. With `as_it_is` a configuration that is spread over more nodes decides by itself. None
        where devices or nodes are not known.
        """
        per_node, nodes = self.columns.get("devices_per_node"), self.columns.get("nodes")
        if per_node is not None and per_node.distinct == 1:
            return per_node.upper
        if not self.counts_devices or (per_node is None and nodes is None):
            return None
        levels = [f.name for f in self.factors if not f.numeric]
        runs = [] if like is None else [run for run in self.runs if all(str(run[n]) == str(like[n]) for n in levels)]
        measured = (
            self.parts_of({f.name: np.array([run[f.name] for run in runs]) for f in self.factors}) if runs else {}
        )
        if not measured:
            measured = self.parts_of({f.name: np.array([f.upper]) for f in self.factors if f.numeric})
        largest = int(np.argmax(measured["workers"]))
        devices_of_node = measured["devices_per_node"] if nodes is None else measured["workers"] / measured["nodes"]
        usual = float(devices_of_node[largest])
        # On one count of nodes nothing shows that a node was full.
        if nodes is None or nodes.distinct == 1:
            usual = max(usual, USUAL_DEVICES) if per_node is None else float(devices_of_node.max())
        if as_it_is and like is not None and nodes is not None:
            machine_sizes = self.parts_of({name: np.array([value]) for name, value in like.items()})
            count, on_nodes = float(machine_sizes["workers"][0]), float(machine_sizes["nodes"][0])
            if on_nodes > 1.0 and np.ceil(count / usual - SAME) != on_nodes:
                return float(np.ceil(count / on_nodes))
        return usual

    @cached_property
    def fills_nodes(self) -> bool:
        """Whether the devices settle the nodes: more of them were on as many nodes or more, which are filled."""
        runs, node_size = self.measured, self.size()
        if node_size is None or "nodes" not in runs:
            # Where no runs are known, nothing speaks against it.
            return node_size is not None and not runs
        if "workers" in self.columns and "devices_per_node" not in self.columns:
            return rises_with(runs["nodes"], runs["workers"])
        several = runs["nodes"] > 1.0
        return bool(np.all(np.ceil(runs["workers"] / node_size - SAME)[several] == runs["nodes"][several]))

    @property
    def fewest_nodes(self) -> float:
        """The nodes that every run had at least: those of all runs where they do not vary."""
        nodes = self.columns.get("nodes")
        return nodes.lower if nodes is not None and nodes.distinct == 1 else 1.0

    # --- what follows ------------------------------------------------------------------------------------------------

    def solved(
        self, base: Parts, given: Parts, size: Any = None, growth: Growth | Mask | None = None
    ) -> dict[str, Array]:
        """Return every part of machines by its name: `given` ones, what follows from these, else as in the `base`.

        A full node has `size` devices, by default as in the runs; for `growth` see `_divide_work`. The parts of one
        machine on 8 nodes, {"workers": [64.0], "nodes": [8.0]}, with {"nodes": [4.0]} are 32 workers on 4 nodes.
        """
        out = {**base, **given}
        if not out:
            return out
        node_size = given.get("devices_per_node", self.size() if size is None else size)
        self._place(out, base, given, node_size)
        self._divide_work(out, base, given, growth)
        return out

    def _devices(self, parts: Parts, base: Parts, given: Parts, node_size: Any) -> Array | None:
        """Return the devices by the first part, in this order, that is given; None where nodes alone are counted."""
        split, counts_workers = product_of(parts), "workers" in base
        if "workers" in given:
            return given["workers"]
        if "nodes" in given:
            return given["nodes"] * node_size if counts_workers else None
        if "data_parallel" in given:
            return given["data_parallel"] * split
        if "devices_per_node" in given and "nodes" in base and "workers" not in self.columns:
            return base["nodes"] * given["devices_per_node"]
        if {"batch", "global_batch"} <= {*given} and counts_workers:
            return given["global_batch"] / given["batch"]
        if counts_workers and not {*SPLITS}.isdisjoint(given):
            unchanged = base["workers"] % split < SAME if self.has_data_ways else np.zeros(len(split), bool)
            return np.where(unchanged, base["workers"], base["data_parallel"] * split)
        return base.get("workers")

    def _place(self, parts: dict[str, Array], base: Parts, given: Parts, node_size: Any) -> None:
        """Set the devices and the nodes that they fill from what is given, else from the base."""
        devices = self._devices(parts, base, given, node_size)
        if devices is None:
            return
        if "workers" not in base:
            # Nodes alone were counted.
            if "nodes" not in given:
                parts["nodes"] = np.ceil(devices / node_size - SAME)
            parts.pop("workers", None)
            return
        # Where nothing that is given moves the devices, they stay on the nodes that hold them.
        stays = devices is base["workers"] and "nodes" in base and "devices_per_node" not in given
        parts["workers"] = devices = np.asarray(devices, float)
        counts_nodes = ("nodes" in base or "nodes" in self.columns) and node_size is not None
        if counts_nodes and "nodes" not in given and not stays:
            parts["nodes"] = np.maximum(self.fewest_nodes, np.ceil(devices / node_size - SAME))
        per_node = self.columns.get("devices_per_node")
        if per_node is not None and "devices_per_node" not in given and per_node.distinct > 1:
            parts["devices_per_node"] = devices / parts["nodes"] if "nodes" in parts else np.minimum(devices, node_size)
        self._split(parts, devices, given)

    def _split(self, parts: dict[str, Array], devices: Array, given: Parts) -> None:
        """Set the ways of the devices that are not given: 16 devices in 4 stages are 4 data-parallel ways."""
        open_ways = [name for name in self.splits if name not in given and self.columns[name].distinct > 1]
        if not self.has_data_ways and "workers" in given and open_ways:
            first_way = open_ways[0]
            parts[first_way] = devices / (product_of(parts) / parts[first_way])
        if {"workers", "data_parallel"} <= {*given}:
            other_ways = product_of(parts, {*BESIDE_DATA} - {*open_ways})
            remaining = devices / (parts["data_parallel"] * other_ways)
            divides = (remaining >= 1.0 - SAME) & (np.abs(remaining - np.round(remaining)) < SAME)
            unequal = divides & ~np.isclose(remaining, product_of(parts, open_ways), rtol=SAME)
            for name in open_ways:
                # The other open splits have one way.
                parts[name] = np.where(unequal, np.round(remaining) if name == open_ways[0] else 1.0, parts[name])
        if "data_parallel" not in given:
            parts["data_parallel"] = np.maximum(1.0, devices / product_of(parts))

    def _divide_work(self, parts: dict[str, Array], base: Parts, given: Parts, growth: Growth | Mask | None) -> None:
        """Set the samples of a step where they are not given, and from them a device's and the passes."""
        count, before = (of_parts.get("workers", of_parts.get("nodes")) for of_parts in (parts, base))
        passes, ones = self.columns.get("micro_batches"), np.ones(1)
        ways = parts.get("data_parallel", ones)
        # The batch of a pass in what the batch of all counts, samples or tokens.
        of_a_pass = parts.get("micro_batch", np.nan * ones) * base.get("sequence", ones)
        if {"global_batch", "micro_batch", "micro_batches"} <= {*base} and count is not None and before is not None:
            # The batches show the ways of data, also where nodes alone are counted.
            grown = ways / base["data_parallel"] if "data_parallel" in base else count / before
            of_passes = base["micro_batch"] * base["micro_batches"] * base.get("sequence", ones)
            ways = base["global_batch"] / of_passes * grown
        # The samples of one pass on all ways of data; NaN where nothing gives a micro-batch.
        at_once = ways * of_a_pass
        always_the_same = passes is not None and passes.distinct == 1 and "global_batch" not in self.columns
        work = None
        if "global_batch" in given:
            work = given["global_batch"]
        elif "batch" in given and count is not None:
            work = given["batch"] * count
        elif "micro_batch" in parts and ("micro_batches" in given or always_the_same):
            work = parts["micro_batches"] * at_once if "micro_batches" in parts else None
        elif "global_batch" in base and count is not None and before is not None:
            work = self._work_as_in_runs(parts, base, (before, count), at_once, growth)
        if work is None:
            return
        parts["global_batch"] = np.asarray(work, float)
        if "batch" not in given and "batch" in self.columns and count is not None:
            # Along nodes, which count as workers then, the batch is still that of one of the devices of each.
            shows = {"batch", "global_batch"} <= base.keys()
            of_each = base["global_batch"] / (base["batch"] * before) if shows and before is not None else ones
            parts["batch"] = work / (count * of_each)
        if "micro_batches" not in given and passes is not None and "micro_batch" in parts:
            parts["micro_batches"] = np.maximum(1.0, work / at_once)

    def _work_as_in_runs(
        self, parts: Parts, base: Parts, counts: tuple[Array, Array], at_once: Array, growth: Growth | Mask | None
    ) -> Array:
        """Return the samples of a step where nothing gives them: those of the base, which stay or grow with the count.

        `counts` are those of the base and of the machine, and `at_once` the samples of a pass on all ways of data.
        """
        before, count = counts
        kind, ones = self.growth if growth is None else growth, np.ones(1)
        # Where nothing shows how they grow, the column that shows the work stays: the passes, or a device's batch.
        if kind is None and "micro_batches" in self.columns and {"global_batch", "batch"}.isdisjoint(self.columns):
            work = parts["micro_batches"] * at_once
        else:
            usual = "weak" if "batch" in self.columns else "strong"
            grows = kind if isinstance(kind, np.ndarray) else (kind or usual) == "weak"
            work = np.where(grows, base["global_batch"] * count / before, base["global_batch"])
        if growth is None and self.samples_of_one is not None:
            # As measured within the runs, and in proportion beyond them.
            work = work * np.interp(count, *self.samples_of_one) / np.interp(before, *self.samples_of_one)
        # A step has one pass at least, of as many ways as the runs have where a pass would exceed their batch.
        of_runs = base.get("data_parallel", ones) * base.get("micro_batch", np.nan * ones) * base.get("sequence", ones)
        return np.asarray(np.fmax(work, at_once * np.fmin(1.0, base["global_batch"] / of_runs)))

    def refuse_unknown_node_size(self, given: Parts) -> None:
        """Refuse nodes of a table that counts devices, or devices of one of nodes, where no node's size is known."""
        named, alternative = ("nodes", "workers") if self.counts_devices else ("workers", "nodes")
        nodes, beside = self.columns.get("nodes"), {alternative, "devices_per_node"}
        # Runs on one node show what it held, and not what a full one would.
        alone = nodes is not None and nodes.distinct == 1 and "devices_per_node" not in self.columns
        most = 0.0 if nodes is None else nodes.upper
        beyond = alone and named == "nodes" and bool(np.any(given.get(named, most) > most))
        if named in given and beside.isdisjoint(given) and (beyond or self.size() is None):
            called = "devices" if named == "workers" else "nodes"
            lacks = f"no run was on more than {most:g} nodes" if alone else f"the model has no factor '{named}'"
            what = f"{lacks}, and nothing shows how many devices a node has"
            raise TableError(what, hint=f"--at devices_per_node=8 beside the {called}, or a column of that name")

    def settled(self, given: Collection[str]) -> frozenset[str]:
        """Return the parts that given ones settle, these among them; the rest is open.

        Settled are, in this order: what was the same in every run; the devices; the nodes, the devices of each and the
        data-parallel ways by them; the samples of a step, a device's and the passes.
        """
        settled, constant = {*given}, {name for name, f in self.columns.items() if f.distinct == 1}
        # A count of which all runs had one number is still open: more of it may be asked about.
        settled |= {name for name in constant if name not in LEVELS and name != "data_parallel"}
        ways = settled >= {*self.splits}
        per_node, fills_nodes = self.columns.get("devices_per_node"), self.fills_nodes or "devices_per_node" in given
        # The devices follow from full nodes, or from all ways, or were always as many.
        by_nodes = "nodes" in settled and fills_nodes
        by_ways = {"data_parallel", *self.splits} <= settled or (not self.has_data_ways and ways)
        if by_nodes or by_ways or ("nodes" not in given and "workers" in constant):
            settled.add("workers")
        if "workers" in settled:
            settled |= {"data_parallel"} if ways else set()
            settled |= {"nodes"} if fills_nodes else set()
            settled |= {"devices_per_node"} if fills_nodes or "nodes" in given or per_node is None else set()
        elif "nodes" in constant:
            settled.add("nodes")
        # The samples of a step follow from those of a device or a pass, or go on along the count as they were measured.
        counted = not {*LEVELS}.isdisjoint(settled)
        by_passes = settled >= {"micro_batch", "micro_batches", "data_parallel"}
        # Of several batches of a device that were tried at every count one is chosen.
        go_on = not self.tries_batches and (self.growth or {"weak", "strong"} <= {*self.growths[1].values()})
        if "global_batch" in settled or by_passes or (counted and ("batch" in settled or go_on)):
            settled |= {"global_batch"} | ({"batch"} if counted else set())
            by_batches = counted and not self.splits and {"global_batch", "micro_batches"} <= {*self.columns}
            shows_ways = "data_parallel" in settled or by_batches
            settled |= {"micro_batches"} if "micro_batch" in settled and shows_ways else set()
        return frozenset(settled)

    def refuse_contradictions(self, parts: Parts, given: Parts, where: str | None = None) -> None:
        """Refuse machines whose given parts contradict each other, with both readings of the first such row.

            nodes = ⌈devices/devices in each⌉,    devices = product of the ways,    global batch = batch·devices

        These are looked at in this order. `parts` are all parts of the machines; messages name the place `where`.
        """
        hint = "give one of them, or numbers that agree"

        def shown(row: int, *names: str) -> list[str]:
            sizes = {name: f"{parts[name][row]:g}" for name in names}
            return [f"{self.part_name(n)}={s}" if n in PARTS else f"{s} further ways" for n, s in sizes.items()]

        # Where only one node was measured, the devices of a full one are supposed, and suppositions contradict nobody.
        size_known = self.fills_nodes and ("devices_per_node" in self.columns or self.columns["nodes"].distinct > 1)
        size = given.get("devices_per_node", self.size() if size_known else None)
        if {"workers", "nodes"} <= {*given} and size is not None:
            devices, nodes, sizes = given["workers"], given["nodes"], np.broadcast_to(size, given["nodes"].shape)
            full = np.ceil(devices / sizes - SAME)
            # Devices may be spread over more nodes than they fill, up to one on each, if no size of a node is given.
            spread = np.clip(nodes, full, np.maximum(devices, self.fewest_nodes))
            for row in _unequal(nodes, np.maximum(full, self.fewest_nodes) if "devices_per_node" in given else spread):
                noun, holds = ("node", "holds") if nodes[row] == 1.0 else ("nodes", "hold")
                what = f"{' and '.join(shown(row, 'nodes', 'workers'))} are no machine: {nodes[row]:g} {noun} of"
                hold = f"{sizes[row]:g} {holds} {nodes[row] * sizes[row]:g}, and {devices[row]:g} fill {full[row]:g}"
                raise TableError(f"{what} {hold}", where=where, hint=hint)
        names_ways, names_count = (not {*names}.isdisjoint(given) for names in (ALL_WAYS, LEVELS))
        is_divided = names_count and not {*BESIDE_DATA}.isdisjoint(parts) and self.splits_divide
        if "workers" in parts and (names_ways or is_divided):
            devices = parts["workers"]
            ways = [n for n in ("data_parallel", *BESIDE_DATA) if n in parts and (n in given or n in BESIDE_DATA)]
            product = product_of(parts, ways)
            # Data-parallel ways that are not given make up the rest: the other ways have to divide the devices.
            is_whole = "data_parallel" in ways
            below = np.floor(devices / product) * product
            for row in _unequal(devices, product if is_whole else below):
                devices_shown, text = shown(row, "workers")[0], " x ".join(shown(row, *ways))
                near = " or ".join(f"{n:g}" for n in (below[row], below[row] + product[row]) if n > 0.0)
                of_ways = f"{text} do not make {devices_shown}: their product is {product[row]:g}"
                multiple = f"{devices_shown} is no multiple of {text}: {near} would be"
                hint = hint if is_whole else f"--at {self.part_name('workers')}={near.split()[0]}, or another split"
                raise TableError(of_ways if is_whole else multiple, where=where, hint=hint)
        count = parts.get("workers", parts.get("nodes"))
        if {"batch", "global_batch"} <= {*given} and count is not None:
            for row in _unequal(given["global_batch"], samples := given["batch"] * count):
                what = f"{' and '.join(shown(row, 'batch', 'global_batch'))} contradict each other"
                batches = f"{given['batch'][row]:g} on each of {count[row]:g} are {samples[row]:g}"
                raise TableError(f"{what}: {batches}", where=where, hint=hint)

    def part_name(self, name: str) -> str:
        """Return the column of a part, or else its name."""
        return self.columns[name].name if name in self.columns else name
