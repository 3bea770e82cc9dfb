"""Learn what `auto` expects of a series from the corpus: one prior from all sources, and one without each source.

    python experiments/learn_prior.py [--outside FOLDER] [--every 3]

Writes `genperf/series/prior.json`, which is shipped, and `experiments/priors/SOURCE.json`, by which `corpus.py` judges
a source. What is learned, and what is not: `docs/decisions/learned-prior.md`.

The objective is the log predictive density of the asked row over all cases of `corpus.py`, each cell (source and
protocol) counting as at most `CELL` cases, plus a normal hyperprior around the prior set by hand. Each case is sampled
once, by importance, under a wide reference prior; another prior only changes the points' weights:

    p(y* | y, θ) = Σ_i w_i(θ)·N(y*; μ_i, σ_i²) / Σ_i w_i(θ),   w_i(θ) = likelihood_i · π(u_i, s_i | θ) / q(u_i, s_i)

whose gradient in θ is in closed form, so that L-BFGS learns it in seconds.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
import pandas as pd
from corpus import FACTORS, PRIORS, Case, cases, sources
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

import genperf as gp
import genperf.series.prior as shipped
from genperf.series import fit
from genperf.series.prior import NAMES, Prior, Setting, setting_of
from genperf.series.quadrature import QUADRATURE, log_sum, weighted_points

COMMAND = "python experiments/learn_prior.py"
Array = npt.NDArray[np.float64]
Theta = dict[str, Array]

#: A cell counts as at most so many independent cases: its series share their cluster.
CELL = 15.0
#: Noises of a configuration, in units of the walk's step of 0.03, between which the evidence of a series decides.
NOISES = (0.005, 0.02, 0.08)
#: A density that every answer has: one case that nothing explains must not steer all.
FLOOR = 0.003
#: The unseen network: share, median and spread of its step. By hand, see docs/decisions/learned-prior.md.
UNSEEN_SHARE, UNSEEN_MEDIAN, UNSEEN_SPREAD = 0.4, 0.1, 3.3
#: Clusters differ more among themselves than series of one cluster: so much more loudness, and trend.
MORE_LOUDNESS, MORE_TREND = 1.3, 1.5
#: How far the learned prior is drawn back to the one set by hand.
SHRUNK = 0.5
#: A second table of DLPerf's cluster.
INSIGHTFACE = "dlperf_insightface"
#: Names of the overheads of the two groups of families, in the order of their roots' rows.
GROUPS = {"A": NAMES[1:7], "B": NAMES[7:9]}
#: Which row of a group is the step to the second node.
STEP_ROW = {"A": 2, "B": 1}


def by_hand() -> Prior:
    """Return the centre of the hyperprior: the prior set by hand, with a choice of noises and a cost per doubling."""
    medians = (0.30, 0.08, 0.015, 0.06, 0.03, 0.03, 0.03, 0.02, 0.06)
    loads = (0.0, 1.0, 0.0, 0.5, 1.5, 1.5, 0.0, 0.0, 0.0)
    plain = setting_of(1.0, medians, (1.5, 0.6, 2.0, 1.1, 1.0, 1.0, 1.5, 1.0, 1.1), loads, 0.6)
    return Prior(settings=(plain,), noises=((0.004, 0.35), (0.01, 0.5), (0.05, 0.15)), doubling=0.2)


def reference() -> Prior:
    """Return the wide prior under which every case is sampled once."""
    loads = (0.0, 1.0, 0.0, 0.5, 1.0, 1.0, 0.0, 0.0, 0.0)
    near = setting_of(
        0.5,
        (0.3, 0.08, 0.015, 0.06, 0.03, 0.03, 0.03, 0.03, 0.06),
        (1.5, 0.9, 2.0, 1.4, 1.3, 1.3, 1.6, 1.3, 1.3),
        loads,
        0.8,
    )
    wide = setting_of(
        0.5,
        (0.3, 0.1, 0.015, 0.4, 0.03, 0.03, 0.02, 0.03, 0.3),
        (1.5, 1.0, 2.2, 2.0, 1.6, 1.6, 1.8, 1.3, 2.2),
        loads,
        0.6,
    )
    noises = tuple((noise, 1.0 / len(NOISES)) for noise in NOISES)
    return Prior(
        settings=(near, wide), noises=noises, louder=1.0, quieter=1.0, trend=0.0, seconds=0.0, step=0.03, doubling=0.2
    )


def insightface() -> pd.DataFrame:
    """Return InsightFace in the form of the corpus: a prior without DLPerf does not learn from it either."""
    frame = gp.datasets.frame("dlperf_insightface")
    key = ["config", "batch_per_device", "devices", "nodes"]
    middle = frame.groupby(key).step_time_s.median().reset_index()
    names = middle.config + "|" + middle.batch_per_device.astype(str)
    middle = middle.assign(
        source="dlperf_insightface", series=names, batch=middle.batch_per_device, t=middle.step_time_s
    )
    return middle.sort_values(["series", "devices"])[["source", "series", *FACTORS, "t"]]


# --- what is sampled once --------------------------------------------------------------------------------------------

#: Kinds of families: overheads, growing overheads, a cost per doubling, none, last point, and those not learned.
PLAIN, GROWING, DOUBLINGS, IDEAL, LAST, OTHER = range(6)


@dataclass(frozen=True, eq=False)
class Points:
    """Importance points of all cases, one after another.

    Attributes
    ----------
    case, kind : ndarray of int, shape (n,)
    u : ndarray of shape (n, 7)
        Logarithms of sizes: those of group A, then the cost per doubling.
    loudness : ndarray of shape (n,)
        ln s of the walk.
    base : ndarray of shape (n, noises)
        ln of likelihood over proposal density.
    off, variance : ndarray of shape (n, noises)
        Forecast less what was measured, and its variance without the trend, in ln T.
    far : ndarray of shape (n,)
        Variance of ln T for a trend of one.
    shift : ndarray of shape (n,)
        Of the overheads between nodes, where they are constant in seconds.
    few, undoubled : ndarray of bool, shape (n,)
        Whether a case has too few scales to grow in proportion, and no family with a cost per doubling.
    fixed : ndarray of shape (n,)
        ln of the prior share of a family that is not learned.
    """

    case: Array
    kind: Array
    u: Array
    loudness: Array
    base: Array
    off: Array
    variance: Array
    far: Array
    shift: Array
    few: Array
    undoubled: Array
    fixed: Array


def sampled(listed: Sequence[Case], prior: Prior) -> Points:
    """Sample every case under the reference prior."""
    settings = replace(QUADRATURE, points=256, rounds=2)
    parts: list[dict[str, Array]] = []
    for number, case in enumerate(listed):
        here = []
        by_size: dict[int, list[fit._Problem]] = {}
        for problem in fit._problems(0, case.series, prior):
            by_size.setdefault(min(len(problem.units), 2), []).append(problem)
        for batch in by_size.values():
            for problem, points in zip(
                batch, weighted_points(fit._targets(batch, prior), settings=settings), strict=True
            ):
                here.append(_points(number, case, problem, points, prior))
        undoubled = not any((part["kind"] == DOUBLINGS).any() for part in here)
        parts += [{**part, "undoubled": np.full(len(part["kind"]), undoubled)} for part in here]
    return Points(**{name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def _points(
    number: int, case: Case, problem: fit._Problem, points: fit.WeightedPoints, prior: Prior
) -> dict[str, Array]:
    """Return one family's points, with their forecast of the asked row."""
    family, count = problem.family, len(problem.units)
    total = log_sum(points.log_weights, 0)
    kept = total > total.max() - 10.0
    u, loudness = points.u[kept, :count], np.log(points.loudness[kept])
    asked = {name: np.asarray(case.asked[name], float) for name in case.series.columns}
    terms = family.expression.term_values(asked, dict.fromkeys(family.expression.constant_names, 1.0))
    shapes = np.array([terms[overhead.name][0] for overhead in family.overheads]).reshape(-1) / problem.units
    curve = np.log(terms["computation"][0] / problem.computation + np.exp(u) @ shapes)[:, None]
    anchors = np.log(problem.work + np.exp(u) @ problem.shapes)
    off, variance = [], []
    for walk in problem.walks:
        assert walk.extrapolation is not None
        level = msgspec.structs.replace(walk.extrapolation, slope=0.0)
        drawn = msgspec.structs.replace(walk, scales=np.exp(loudness), extrapolation=level)
        mean, spread = drawn.forecast(asked, anchors, curve)
        off.append(mean[:, 0] - np.log(case.truth))
        variance.append((spread + drawn.run_variance(0.0))[:, 0])
    doublings = problem.walks[0].doublings_beyond(asked)[0]
    names = [overhead.name for overhead in family.overheads]
    learned = count > 1 and not family.vague and {*names} <= {*GROUPS["A"], *GROUPS["B"]}
    kind = OTHER
    if family.last or not count:
        kind = LAST if family.last else IDEAL
    elif learned:
        kind = {"overheads": PLAIN, "growing overheads": GROWING, "doublings": DOUBLINGS}[family.label]
    density = np.zeros(len(u))
    if learned:
        medians, roots = fit.moments_of(family, prior, 0.0)
        shares = np.log([setting.share for setting in prior.settings])
        density = log_sum(
            np.array([s + _log_normal(u, m, r) for s, m, r in zip(shares, medians, roots, strict=True)]), 0
        )
    sizes = np.zeros((len(u), 7))
    order = [*GROUPS["A"], GROUPS["B"][0]]
    if learned:
        for name, column in zip(names, u.T, strict=True):
            sizes[:, order.index(name)] = column
    longer = case.series.logarithms[problem.walks[0].largest] - np.log(prior.usual_time)
    standard = -0.5 * loudness**2 - 0.5 * np.log(2.0 * np.pi)
    n = len(u)
    return {
        "case": np.full(n, number),
        "kind": np.full(n, kind),
        "u": sizes,
        "loudness": loudness,
        "base": (points.log_weights[:, kept] + np.log(len(NOISES)) - standard - density).T,
        "off": np.array(off).T,
        "variance": np.array(variance).T,
        "far": (np.maximum(np.exp(loudness), 1.0) * doublings) ** 2,
        "shift": np.full(n, -longer * np.exp(-0.5 * (longer / prior.usual_range) ** 2)),
        "few": np.full(n, fit._layout(case.series).scales < prior.fewest_for_serial),
        "fixed": np.full(n, np.log(family.share)),
    }


def _log_normal(u: Array, medians: Array, root: Array) -> Array:
    inverse = np.linalg.inv(root)
    z = (u - medians) @ inverse.T
    return np.asarray(
        -0.5 * (z**2).sum(axis=1) + np.log(np.diag(inverse)).sum() - 0.5 * len(root) * np.log(2.0 * np.pi)
    )


# --- what is learned -------------------------------------------------------------------------------------------------

#: Standard deviations of the hyperprior, in the units of θ: logarithms, and entries of the roots.
HYPERPRIOR = {
    "A": 1.0, "rootA": 0.4, "B": 1.0, "rootB": 0.4, "seconds": 0.5, "noises": 1.5, "step": 0.5, "loudness": 0.4,
    "trend": 0.7, "shares": 1.0, "serial": 1.0,
}  # fmt: skip


def packed(theta: Theta) -> Array:
    return np.concatenate([np.ravel(theta[name]) for name in HYPERPRIOR])


def unpacked(x: Array, like: Theta) -> Theta:
    theta, at = {}, 0
    for name in HYPERPRIOR:
        size = np.size(like[name])
        theta[name] = x[at : at + size].reshape(np.shape(like[name]))
        at += size
    return theta


def start() -> Theta:
    """Return θ of the prior set by hand; the diagonals of roots are logarithms, noises and shares are logits."""
    prior = by_hand()
    root = np.array(prior.settings[0].root)
    theta: Theta = {}
    for group, names in GROUPS.items():
        at = [NAMES.index(name) for name in names]
        lower = root[np.ix_(at, at)]
        theta[group] = np.log(np.array(prior.settings[0].medians)[at])
        theta[f"root{group}"] = lower - np.diag(np.diag(lower)) + np.diag(np.log(np.diag(lower)))
    families = np.array([prior.last, prior.ideal, prior.doubling])
    theta |= {
        "seconds": np.array(0.7),
        "noises": np.log([0.4, 0.4, 0.2]),
        "step": np.array(0.2),
        "loudness": np.array(np.log(0.8)),
        "trend": np.array(np.log(0.02)),
        "shares": np.log(families / (1.0 - families.sum())),
        "serial": np.array(0.0),
    }
    return theta


def distributions(theta: Theta) -> dict[str, list[tuple[Array, Array, int | None]]]:
    """Return each group's settings: mean, root, and the row that is not learned (of the unseen network)."""
    out = {}
    for group, row in STEP_ROW.items():
        lower = np.tril(theta[f"root{group}"], -1) + np.diag(np.exp(np.diag(theta[f"root{group}"])))
        unseen, mean = lower.copy(), theta[group].copy()
        unseen[row], mean[row] = 0.0, np.log(UNSEEN_MEDIAN)
        unseen[row, row] = UNSEEN_SPREAD
        out[group] = [(theta[group], lower, None), (mean, unseen, row)]
    return out


class Objective:
    """Minus the weighted log predictive density, and its gradient."""

    def __init__(self, points: Points, weights: Array) -> None:
        self.points, self.weights = points, weights
        self.starts = np.searchsorted(points.case, np.arange(len(weights)))
        self.kinds = [
            (np.flatnonzero(points.kind == kind), count, group)
            for kind, count, group in ((PLAIN, 5, "A"), (GROWING, 6, "A"), (DOUBLINGS, 2, "B"))
        ]
        self.centre = start()
        precision = {name: np.full(np.shape(self.centre[name]), sd**-2.0) for name, sd in HYPERPRIOR.items()}
        self.precision = packed(precision)

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the value and the gradient at packed constants."""
        p, theta = self.points, unpacked(x, self.centre)
        log_noises = theta["noises"] - log_sum(theta["noises"], 0)
        sd, trend = np.exp(theta["loudness"]), np.exp(2.0 * theta["trend"])
        shares = {True: np.append(theta["shares"][:2], 0.0), False: np.append(theta["shares"], 0.0)}
        shares = {without: logits - log_sum(logits, 0) for without, logits in shares.items()}

        def share(all_: int, undoubled: int) -> Array:
            return np.where(p.undoubled, shares[True][undoubled], shares[False][all_])

        grows, stays = -np.logaddexp(0.0, -theta["serial"]), -np.logaddexp(0.0, theta["serial"])
        several = share(3, 2)
        families = np.choose(
            p.kind.astype(int),
            [several + np.where(p.few, 0.0, stays), several + grows, share(2, 2), share(1, 1), share(0, 0), p.fixed],
        )
        z = (p.loudness - theta["step"]) / sd
        log_prior = families - 0.5 * z**2 - np.log(sd) - 0.5 * np.log(2.0 * np.pi)
        settings = distributions(theta)
        mixture = np.log([1.0 - UNSEEN_SHARE, UNSEEN_SHARE])
        parts = []
        for at, count, group in self.kinds:
            first = 2 if group == "A" else 1
            v = p.u[at][:, :count].copy() if group == "A" else p.u[at][:, [6, 2]].copy()
            v[:, first:] -= theta["seconds"] * p.shift[at, None]
            logs, standard = [], []
            for log_share, (mean, root, _) in zip(mixture, settings[group], strict=True):
                inverse = np.linalg.inv(root[:count, :count])
                off = (v - mean[:count]) @ inverse.T
                standard.append((inverse, off))
                square = np.einsum("nd,nd->n", off, off)
                logs.append(
                    log_share - 0.5 * square + np.log(np.diag(inverse)).sum() - 0.5 * count * np.log(2.0 * np.pi)
                )
            total = log_sum(np.array(logs), 0)
            log_prior[at] += total
            parts.append((np.array(logs) - total, standard, first))
        joint = p.base + log_noises + log_prior[:, None]
        variance = p.variance + trend * p.far[:, None]
        top = np.maximum.reduceat(joint.max(axis=1), self.starts)
        mass = np.exp(joint - top[p.case.astype(int)][:, None])
        hit = mass * np.exp(-0.5 * p.off**2 / variance) / np.sqrt(2.0 * np.pi * variance)
        evidence = np.add.reduceat(mass.sum(axis=1), self.starts)
        density = np.add.reduceat(hit.sum(axis=1), self.starts) / evidence
        value = -float(self.weights @ np.log(density + FLOOR))
        scale = self.weights / (evidence * (density + FLOOR))
        case = p.case.astype(int)
        # The derivative of the log predictive density is E[∂ ln π | y, y*] − E[∂ ln π | y].
        after = hit * scale[case][:, None]
        change = after - mass * (density * scale)[case][:, None]
        each = change.sum(axis=1)
        slope: Theta = {name: np.zeros(np.shape(values)) for name, values in self.centre.items()}
        for (at, count, group), (logs, standard, first) in zip(self.kinds, parts, strict=True):
            for log_part, (inverse, off), (_, _, row) in zip(logs, standard, settings[group], strict=True):
                e = each[at] * np.exp(log_part)
                pull = off @ inverse
                slope["seconds"] += ((e * p.shift[at]) @ pull[:, first:]).sum()
                mean = e @ pull
                root = np.tril(inverse.T @ ((off * e[:, None]).T @ off)) - np.diag(np.diag(inverse)) * e.sum()
                root += np.diag(np.diag(root) / np.diag(inverse) - np.diag(root))
                if row is not None:
                    mean[row], root[row] = 0.0, 0.0
                slope[group][:count] += mean
                slope[f"root{group}"][:count, :count] += root
        of_noise = change.sum(axis=0)
        slope["noises"] = of_noise - np.exp(log_noises) * of_noise.sum()
        slope["step"], slope["loudness"] = np.sum(each * z / sd), np.sum(each * (z**2 - 1.0))
        slope["trend"] = np.sum(after * (0.5 * p.off**2 / variance**2 - 0.5 / variance) * 2.0 * trend * p.far[:, None])
        for without, kinds in ((False, ((LAST,), (IDEAL,), (DOUBLINGS,))), (True, ((LAST,), (IDEAL,)))):
            here = (p.undoubled == without) & (p.kind != OTHER)
            for j, kind in enumerate(kinds):
                slope["shares"][j] += (
                    each[here & np.isin(p.kind, kind)].sum() - np.exp(shares[without][j]) * each[here].sum()
                )
        grown, steady = each[p.kind == GROWING].sum(), each[(p.kind == PLAIN) & ~p.few].sum()
        slope["serial"] = grown * (1.0 - np.exp(grows)) - steady * np.exp(grows)
        off_centre = x - packed(self.centre)
        return value + 0.5 * float(off_centre**2 @ self.precision), off_centre * self.precision - packed(slope)


def weights_of(listed: Sequence[Case], without: str | None) -> Array:
    """Return each case's weight: a cell counts as at most `CELL` cases, the left-out source as none."""
    keys = [(case.source, case.protocol) for case in listed]
    counts = {key: keys.count(key) for key in set(keys)}
    return np.array([0.0 if without and key[0].startswith(without) else CELL / (counts[key] + CELL) for key in keys])


def learned(points: Points, weights: Array) -> Prior:
    """Learn a prior, and draw it back towards the one set by hand."""
    objective = Objective(points, weights)
    solution = minimize(objective, packed(objective.centre), jac=True, method="L-BFGS-B", options={"maxiter": 40})
    theta = unpacked(solution.x, objective.centre)
    hand, plain = by_hand(), distributions(theta)
    root = np.array(hand.settings[0].root)
    medians = np.log(hand.settings[0].medians)
    for group, names in GROUPS.items():
        at = [NAMES.index(name) for name in names]
        medians[at] = (1.0 - SHRUNK) * plain[group][0][0] + SHRUNK * medians[at]
        root[np.ix_(at, at)] = (1.0 - SHRUNK) * plain[group][0][1] + SHRUNK * root[np.ix_(at, at)]
    unseen, unseen_medians = root.copy(), medians.copy()
    for group, row in STEP_ROW.items():
        at = NAMES.index(GROUPS[group][row])
        unseen[at], unseen_medians[at] = 0.0, np.log(UNSEEN_MEDIAN)
        unseen[at, at] = UNSEEN_SPREAD

    def between(value: float, other: float) -> float:
        return round(float(np.exp((1.0 - SHRUNK) * np.log(value) + SHRUNK * np.log(other))), 5)

    shares = np.exp(np.append(theta["shares"], 0.0) - log_sum(np.append(theta["shares"], 0.0), 0))
    noise_shares = (1.0 - SHRUNK) * np.exp(theta["noises"] - log_sum(theta["noises"], 0)) + SHRUNK * np.array(
        [share for _, share in hand.noises]
    )
    step, loudness = float(np.exp(theta["step"])), float(np.exp(theta["loudness"]))
    noises = tuple(
        (between(noise * step, other), round(float(share), 4))
        for noise, share, (other, _) in zip(NOISES, noise_shares, hand.noises, strict=True)
    )
    return replace(
        hand,
        settings=(_setting(1.0 - UNSEEN_SHARE, medians, root), _setting(UNSEEN_SHARE, unseen_medians, unseen)),
        noises=noises,
        step=between(0.03 * step, hand.step),
        louder=round(MORE_LOUDNESS * between(loudness, hand.louder), 5),
        quieter=between(loudness, hand.quieter),
        trend=round(MORE_TREND * between(float(np.exp(theta["trend"])), hand.trend), 5),
        last=between(shares[0], hand.last),
        ideal=between(shares[1], hand.ideal),
        doubling=between(shares[2], hand.doubling),
        serial=between(1.0 / (1.0 + float(np.exp(-theta["serial"]))), hand.serial),
        seconds=between(float(theta["seconds"]), hand.seconds),
    )


def _setting(share: float, log_medians: Array, root: Array) -> Setting:
    medians = tuple(round(float(v), 5) for v in np.exp(log_medians))
    return Setting(share, medians, tuple(tuple(round(float(v), 5) for v in row) for row in root))


def written(path: Path, prior: Prior, names: Sequence[str], flags: str) -> None:
    """Write a prior with its provenance."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = {"made_by": COMMAND + flags, "sources": list(names), "overheads": list(NAMES), "prior": prior.dump()}
    path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--outside", type=Path, help="a folder of more sources, which are not bundled")
    parser.add_argument("--every", type=int, default=1, help="learn from every so many of the cases")
    given = parser.parse_args()
    with threadpool_limits(limits=1):
        listed = cases(sources(given.outside), given.every)
        # InsightFace was measured at four counts at most: two are enough to learn from.
        listed += cases({INSIGHTFACE: insightface()}, given.every, least=2)
        points = sampled(listed, reference())
        flags = (" --outside FOLDER" if given.outside else "") + f" --every {given.every}"
        names = sorted({case.source for case in listed} - {INSIGHTFACE})
        for without in names:
            kept = [name for name in names if name != without]
            written(PRIORS / f"{without}.json", learned(points, weights_of(listed, without)), kept, flags)
            print(f"without {without}: done", flush=True)
        shipped_file = Path(shipped.__file__).parent / "prior.json"
        written(shipped_file, learned(points, weights_of(listed, None)), names, flags)


if __name__ == "__main__":
    main()
