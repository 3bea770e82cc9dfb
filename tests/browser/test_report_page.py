"""The report in a real browser: the same numbers as Python, no complaint, no request, any width, light and dark."""

import dataclasses
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
from chromium import NARROW, WIDE, Browser, page
from discrepancies import stacked
from helpers import runs_of
from msgspec.structs import replace

import genperf as gp
from genperf.attribution.terms import FORM, HIDDEN
from genperf.discrepancy import Beyond, KernelAxis, Process, Product
from genperf.reporting import View, held_out, html
from genperf.result import FitResult, GroupedResult

HOSTILE = ['a"b', "</script><script>bad()</script>", "<img src=x onerror=bad()>", "{{ 7*7 }}", "&lt;b&gt;", "x" * 300]


def runs(scale: float = 1.0, counts: tuple[int, ...] = (1, 2, 4, 8, 16), seed: int = 0) -> pd.DataFrame:
    def law(f: pd.DataFrame) -> pd.Series:
        return scale * (0.02 * f.batch / f.workers + 0.03 + 0.01 * np.log2(f.workers) * (1 + (f.framework == "mxnet")))

    levels = {"workers": counts, "batch": (16, 32, 64), "framework": ("tensorflow", "mxnet")}
    return runs_of(law, levels, column="seconds", noise=0.02, seed=seed).assign(nodes=lambda f: -(-f.workers // 8))


def fitted(frame: pd.DataFrame, model: str = "auto", **roles: Any) -> Any:
    return gp.fit(gp.read_table(frame, time="seconds", **{"extrinsic": "workers", **roles}), model=model, draws=60)


@pytest.fixture(scope="module")
def many() -> FitResult:
    return fitted(runs(), "generic", intrinsic="batch", categorical="framework")


@pytest.fixture(scope="module")
def series() -> FitResult:
    frame = runs().query("batch == 32 and framework == 'mxnet'")
    return fitted(frame, extrinsic="workers,nodes", intrinsic="batch")


@pytest.fixture(scope="module")
def ensemble(many: FitResult) -> FitResult:
    """Two members of a table of many factors, each with a process along three kinds of factors."""
    anchors: dict[str, list[Any]] = {
        "workers": [1.0, 4.0, 16.0, 16.0],
        "framework": ["mxnet", "tensorflow", "mxnet", "tensorflow"],
        "batch": [16.0, 32.0, 64.0, 16.0],
    }
    axes = (
        KernelAxis("workers", "ln", 0.1, 0.4, smooth=0.2, length=1.5, walk=0.1, step=0.1),
        KernelAxis("framework", "level", 0.3, 1.1),
        KernelAxis("batch", "ln1p", 0.2, 0.3, smooth=0.1, length=0.8, each=0.05, centre=3.0),
        KernelAxis("workers*batch", "ln", 0.1, 0.2),
    )
    processes = stacked(anchors, [0.2, -0.3, 0.1, -0.05], axes, local=0.1, noise=0.06, weights=(0.7, 0.3))
    beyond = (Beyond("workers", 16.0, (0.1, 0.9), 2.5), Beyond("batch", 64.0, (0.5, 0.5), 1.0))
    parts = tuple(msgspec.structs.replace(p, kernel=Product(axes, 2.0, 0.1)) for p in processes[0].stack.parts)
    stack = msgspec.structs.replace(processes[0].stack, parts=parts, beyond=beyond, width=1.2, repeats=0.05)
    other = replace(many.best, draws=1.1 * many.best.draws, constants=1.1 * many.best.constants, weight=0.3, label="b")
    members = (replace(many.best, weight=0.7), other)
    return dataclasses.replace(
        many, members=tuple(replace(m, process=Process(stack, k)) for k, m in enumerate(members))
    )


@pytest.fixture(scope="module")
def groups() -> GroupedResult:
    parts = [runs(k + 1, seed=k).query("batch == 32 and framework == 'mxnet'").assign(net=name)
             for k, name in enumerate(HOSTILE)]  # fmt: skip
    alone = runs().query("batch == 32 and workers == 1")[:1].assign(net="too short")
    return fitted(pd.concat([*parts, alone]), "amdahl", group="net")


def machines(held: float, asked: dict[str, Any]) -> pd.DataFrame:
    """Return the combinations in which so many workers are on nodes that hold them, and none is empty."""
    names = [name for name in asked if isinstance(asked[name], list)]
    rows = pd.MultiIndex.from_product([asked[name] for name in names], names=names).to_frame(index=False)
    there = rows[(rows.workers <= held * rows.nodes) & (rows.nodes <= rows.workers)]
    return there.assign(**{name: value for name, value in asked.items() if name not in names})


def agrees(browser: Browser, result: FitResult, asked: dict[str, Any] | pd.DataFrame) -> None:
    """Compare every number the page predicts at some configurations with Python's."""
    expected = result.predict(asked)
    rows = [[row[f.name] for f in result.schema.factors] for row in expected.to_dict("records")]
    found = browser.js("return arguments[0].map((x) => engine.predict(x))", rows)
    for name, column in {"time": result.schema.target.name, "lower": "lower", "upper": "upper"}.items():
        np.testing.assert_allclose([f[name] for f in found], expected[column], rtol=1e-9, err_msg=name)
    assert [f["verdict"] for f in found] == expected["verdict"].tolist()
    assert [f["reason"] for f in found] == expected["reason"].tolist()


def test_numbers_are_pythons(browser: Browser, many: FitResult) -> None:
    browser.open(page(many))
    counts = [1, 2, 3, 16, 17, 32, 64, 500]
    agrees(browser, many, {"batch": [4.0, 32.0, 100.5], "workers": counts, "framework": ["tensorflow", "mxnet"]})


def test_numbers_of_a_series_are_pythons(browser: Browser, series: FitResult) -> None:
    browser.open(page(series))
    asked = {"workers": [1, 2, 3, 8, 12, 16, 24, 32, 64, 4096], "nodes": [1.0, 2.0, 4.0, 8.0, 512.0], "batch": 32}
    agrees(browser, series, machines(8, asked))


def test_numbers_of_what_overheads_lower_are_pythons(browser: Browser) -> None:
    frame = pd.DataFrame({"workers": [1, 2, 4, 8], "busy": [98.0, 97.0, 95.0, 92.0]})
    result = gp.fit(frame, quantity="busy:%", extrinsic="workers")
    browser.open(page(result))
    assert result.predict({"workers": [4096]}).upper.iloc[0] == 100.0
    agrees(browser, result, {"workers": [1, 3, 8, 32, 4096]})


def test_numbers_of_an_ensemble_are_pythons(browser: Browser, ensemble: FitResult) -> None:
    browser.open(page(ensemble))
    agrees(browser, ensemble, {"batch": [16, 100], "workers": [1, 3, 4, 16, 20, 64], "framework": "mxnet"})


def test_numbers_of_auto_on_many_factors_are_pythons(browser: Browser) -> None:
    frame = runs().assign(seconds=lambda d: d.seconds * np.where((d.framework == "mxnet") & (d.batch == 32), 1.4, 1.0))
    result = fitted(frame, "auto", intrinsic="batch", categorical="framework")
    assert result.best.process is not None
    browser.open(page(result))
    agrees(
        browser, result, {"batch": [16, 32, 100], "workers": [1, 3, 16, 20, 64], "framework": ["mxnet", "tensorflow"]}
    )


@pytest.mark.parametrize("most", [4, 8])
def test_numbers_of_factors_that_go_on_as_series_are_pythons(browser: Browser, most: int) -> None:
    """Measured inside one node of four, and on two."""
    frame = runs().query(f"workers <= {most}").assign(nodes=lambda d: np.maximum(1, d.workers // 4))
    result = fitted(frame, "auto", intrinsic="batch", extrinsic="workers,nodes", categorical="framework")
    assert result.best.process is not None
    browser.open(page(result))
    asked = {"batch": [16, 100], "workers": [2, 4, 16, 64], "nodes": [1.0, 2.0, 8.0, 16.0], "framework": "mxnet"}
    agrees(browser, result, machines(4, asked))


def test_combinations_that_were_not_measured_are_judged_as_in_python(browser: Browser) -> None:
    frame = runs().query("batch == 16 or workers <= 4 or (framework == 'mxnet' and workers <= 8 and batch == 32)")
    result = fitted(frame.query("framework != 'tensorflow' or workers <= 8"), "generic", intrinsic="batch",
                    categorical="framework")  # fmt: skip
    browser.open(page(result))
    asked = {"batch": [8, 16, 40, 64, 200], "workers": [1, 4, 7, 16, 64], "framework": ["mxnet", "tensorflow"]}
    agrees(browser, result, asked)
    assert result.predict(asked)["reason"].str.contains("were never measured together; nearest run: ").any()


def test_terms_are_pythons(browser: Browser, many: FitResult, ensemble: FitResult, series: FitResult) -> None:
    at = {"batch": 20, "workers": 24, "framework": "mxnet"}
    nodes = {"workers": 24, "nodes": 3}
    # A member whose draws count less for the central value counts less for the terms.
    central = np.r_[0.25, np.ones(len(series.members[0].draws) - 1)] / 2.0
    thinned = (replace(series.members[0], central=central), *series.members[1:])
    uneven = dataclasses.replace(series, members=thinned)
    for result, where in ((many, at), (ensemble, at), (series, nodes), (uneven, nodes)):
        browser.open(page(result))
        expected = gp.explain(result, where).terms.set_index("term")["seconds"]
        row = result.predict({"batch": 32, **where}).iloc[0]
        found = browser.js(
            "return [...engine.parts(arguments[0]).seconds]", [row[f.name] for f in result.schema.factors]
        )
        assert [name for name, _ in found] == [n for n in expected.index if n not in (HIDDEN, FORM)]
        for name, seconds in found:
            assert seconds == pytest.approx(expected[name], rel=1e-9)


FORMULAS = [
    "max(a*batch/workers, b*log2(workers + 1)) + c",
    "where(workers > 2 and not batch == 16, a, b) + c*(workers % 3)",
    "a*batch**p/workers + b*ceil(workers/8) + c*abs(floor(workers) - 4) + min(a, b, sqrt(c)) + exp(-workers)*c",
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_numbers_of_a_users_formula_are_pythons(browser: Browser, formula: str) -> None:
    result = fitted(runs().query("framework == 'mxnet'"), formula, intrinsic="batch")
    browser.open(page(result))
    agrees(browser, result, {"batch": [16, 24], "workers": [1, 2, 5, 16, 33]})


def test_sliders_move_the_numbers_and_the_figures(browser: Browser, many: FitResult) -> None:
    browser.open(page(many))
    place = [f.name for f in many.schema.factors].index("workers")
    shown = browser.js(
        "return [document.querySelector('#scaling .curve').getAttribute('d'), $('now').getAttribute('cx')]"
    )
    slider = browser.driver.find_element("id", f"factor-{place}")
    for _ in range(3):
        slider.send_keys("\ue014")  # arrow right
    browser.settle()
    x = browser.js("return state.x")
    expected = many.predict({f.name: v for f, v in zip(many.schema.factors, x, strict=True)})
    time = float(browser.js("return $('value').dataset.value"))
    assert time == pytest.approx(expected["time"].iloc[0], rel=1e-9)
    assert browser.js("return $('now').getAttribute('cx')") != shown[1]
    batch = [f.name for f in many.schema.factors].index("batch")
    typed = browser.driver.find_element("id", f"factor-{batch}-value")
    typed.send_keys("\ue009a", "\ue000", "200\t")  # control-a, then none held
    browser.settle()
    assert browser.js("return state.x")[batch] == 200
    assert browser.js("return document.querySelector('#scaling .curve').getAttribute('d')") != shown[0]
    expected = many.predict({f.name: v for f, v in zip(many.schema.factors, browser.js("return state.x"), strict=True)})
    assert float(browser.js("return $('value').dataset.value")) == pytest.approx(expected["time"].iloc[0], rel=1e-9)
    assert expected["verdict"].iloc[0] == browser.js("return document.querySelector('#verdict .chip').textContent")


def test_nodes_follow_the_workers_until_they_are_moved(browser: Browser, series: FitResult) -> None:
    browser.open(page(series))
    names = [f.name for f in series.schema.factors]
    workers, nodes = names.index("workers"), names.index("nodes")
    browser.js("set(arguments[0], 32)", workers)
    assert browser.js("return state.x")[nodes] == 4
    browser.js("set(arguments[0], 1)", nodes)
    browser.js("set(arguments[0], 16)", workers)
    assert browser.js("return state.x")[nodes] == 1


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [NARROW, 768, WIDE])
def test_fits_every_screen(browser: Browser, many: FitResult, width: int, dark: bool) -> None:
    browser.open(page(many), width, dark=dark)
    browser.settle()
    assert browser.js("return document.documentElement.scrollWidth") <= width
    paper = browser.js("return getComputedStyle(document.body).backgroundColor")
    assert (int(paper.split("(")[1].split(",")[0]) < 100) == dark
    assert not browser.requests()


@pytest.mark.parametrize("dark", [False, True])
def test_contrast(browser: Browser, many: FitResult, dark: bool) -> None:
    browser.open(page(many), dark=dark)
    ratios = browser.js("""
      const parse = (c) => c.match(/[\\d.]+/g).map(Number);
      const light = (c) => parse(c).slice(0, 3).map((v) => v / 255)
        .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((a, v, i) => a + v * [0.2126, 0.7152, 0.0722][i], 0);
      const ground = (e) => {
        for (; e; e = e.parentElement) {
          const c = parse(getComputedStyle(e).backgroundColor);
          if (c.length < 4 || c[3] > 0) return getComputedStyle(e).backgroundColor;
        }
        return "rgb(255,255,255)";
      };
      const out = [];
      for (const e of document.querySelectorAll("body *")) {
        const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
        if (!own || !e.getClientRects().length || e.closest("script")) continue;
        const style = getComputedStyle(e);
        const a = light(e instanceof SVGElement ? style.fill : style.color);
        const b = light(ground(e.closest(":not(svg *)") || e));
        out.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.outerHTML.slice(0, 80)]);
      }
      return out;""")
    assert len(ratios) > 60
    assert not [found for found in ratios if found[0] < 4.5]


def test_everything_has_a_name(browser: Browser, many: FitResult) -> None:
    browser.open(page(many))
    nameless = browser.js("""
      return [...document.querySelectorAll("input, select, svg[role=img], [role=region]")]
        .filter((e) => !e.getAttribute("aria-label") && !document.querySelector(`label[for="${e.id}"]`))
        .map((e) => e.outerHTML);""")
    assert nameless == []
    levels = browser.js("return [...document.querySelectorAll('h1,h2,h3')].map((e) => +e.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))


def test_picker_and_hostile_names(browser: Browser, groups: GroupedResult) -> None:
    browser.open(page(groups, View(title="<script>bad()</script>")))
    assert browser.js("return document.querySelectorAll('#group option').length") == len(HOSTILE) + 1
    assert browser.texts("#group option")[: len(HOSTILE)] == sorted(HOSTILE)
    assert browser.js("return document.scripts.length") == 2
    assert browser.js("return document.querySelectorAll('img, main script').length") == 0
    assert browser.js("return document.querySelector('h1').textContent") == "<script>bad()</script>"
    for k, name in enumerate(sorted(HOSTILE)):
        browser.js("const g = $('group'); g.value = arguments[0]; g.dispatchEvent(new Event('change'))", str(k))
        expected = groups[name].predict({"workers": browser.js("return state.x[sheet.along]")})
        time = float(browser.js("return $('value').dataset.value"))
        assert time == pytest.approx(expected["time"].iloc[0], rel=1e-9)
    browser.driver.find_element("id", "search").send_keys("too short")
    assert "is not shown" in browser.text("failed")
    assert not browser.requests()


def test_hostile_columns_and_levels(browser: Browser) -> None:
    script, image = HOSTILE[1], HOSTILE[2]
    frame = runs().rename(columns={"batch": script}).assign(framework=lambda f: f.framework.replace("mxnet", image))
    table = gp.read_table(frame, time="seconds", extrinsic="workers", intrinsic=[script], categorical="framework")
    result = gp.fit(table, model="generic", draws=20)
    browser.open(page(result))
    assert browser.js("return document.scripts.length") == 2
    assert script in browser.text("factors")
    agrees(browser, result, {script: [16, 40], "workers": [8, 32], "framework": [image, "tensorflow"]})


def test_page_of_a_table_shows_the_baselines(browser: Browser) -> None:
    table = gp.read_table(runs().query("framework == 'mxnet'"), time="seconds", extrinsic="workers", intrinsic="batch")
    checked = held_out(table, "amdahl")
    browser.open(html.page(gp.fit(table, model="amdahl"), validation=checked), NARROW)
    shown = browser.texts("#validation tbody tr > :nth-child(1)")
    assert shown == ["amdahl", "last-point", "linear", "random-forest"]
    assert browser.js("return document.querySelectorAll('#validation tr.best').length") == 1
    assert browser.js("return document.documentElement.scrollWidth") <= NARROW


def test_one_factor_that_counts_no_workers(browser: Browser) -> None:
    frame = runs().query("framework == 'mxnet' and workers == 2")
    result = fitted(frame, "a*batch + c", extrinsic="", intrinsic="batch")
    browser.open(page(result))
    assert browser.js("return $('scaling-card').hidden")
    assert browser.js("return document.querySelectorAll('#stack tbody tr').length") == 2
    time = result.predict({"batch": browser.js("return state.x[0]")})["time"].iloc[0]
    assert float(browser.js("return $('value').dataset.value")) == pytest.approx(time, rel=1e-9)


def test_a_group_beyond_the_room_has_its_line_and_the_command_for_the_rest(
    browser: Browser, groups: GroupedResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html, "MAX_DRAW_BYTES", 10)
    browser.open(html.page(groups))
    # The very last one failed.
    last = browser.js("return PAGE.groups.length") - 2
    assert browser.js("return PAGE.groups.map((g) => whole(g))") == [True] + [False] * (last + 1)
    predicted = browser.js(f"return PAGE.groups[{last}].sheet.summary.value")
    key = browser.js(f"return PAGE.groups[{last}].key[0]")
    at = browser.js(f"return PAGE.groups[{last}].sheet.at")
    there = dict(zip((f.name for f in groups[key].schema.factors), at, strict=True))
    assert predicted == pytest.approx(groups[key].predict(there)["time"].iloc[0], rel=1e-6)
    browser.js(f"choose({last})")
    assert browser.js("return $('sheet').hidden")
    assert f"genperf report MODEL --only '{key}'" in browser.text("failed")
    assert browser.js("return $('beside').options.length") == 1
    browser.js("choose(0)")
    assert not browser.js("return $('sheet').hidden")


def test_the_browser_would_have_noticed(browser: Browser, many: FitResult) -> None:
    """A page that asks for something, or runs what is not its own script, does not pass."""
    whole = page(many)
    browser.open(whole.replace("</body>", '<img src="http://example.org/x.png"></body>'))
    browser.driver.execute_async_script("setTimeout(arguments[0], 50)")
    assert browser.complaints()
    assert browser.requests()
    browser.open(whole.replace("</body>", "<script>document.title = 'run'</script></body>"))
    assert browser.js("return document.title") != "run"
    assert browser.complaints()
    browser.open(whole)


def test_prints(browser: Browser, many: FitResult) -> None:
    browser.open(page(many), dark=True)
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert browser.js("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(browser.printed()) > 15_000


def test_printed_tables_keep_their_last_column(browser: Browser) -> None:
    frame = runs().rename(columns={"framework": "the_framework_that_was_used", "batch": "batch_per_worker_of_a_step"})
    result = fitted(frame, "generic", intrinsic="batch_per_worker_of_a_step", categorical="the_framework_that_was_used")
    browser.open(page(result), 660)  # the width of A4 between its margins
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    ends = browser.js("""
      document.querySelectorAll("details").forEach((d) => (d.open = true));
      return [...document.querySelectorAll("table")].map((t) =>
        [t.getBoundingClientRect().right, t.closest(".card").getBoundingClientRect().right]);""")
    assert len(ends) > 3
    assert all(right <= card for right, card in ends)


def test_large_numbers_are_short_and_can_be_typed_so(browser: Browser) -> None:
    frame = runs().query("framework == 'mxnet'").assign(params=lambda f: f.batch * 936725440)
    result = fitted(frame, "generic", intrinsic="params")
    browser.open(page(result))
    place = [f.name for f in result.schema.factors].index("params")
    typed = browser.driver.find_element("id", f"factor-{place}-value")
    browser.js("set(arguments[0], 29975214080)", place)
    assert typed.get_property("value") == "30B"
    assert typed.get_property("title") == "29975214080"
    assert browser.js("return arguments[0].scrollWidth <= arguments[0].clientWidth", typed)
    browser.js("arguments[0].focus()", typed)
    assert typed.get_property("value") == "29975214080"
    typed.send_keys("\ue009a", "\ue000", "45 B\t")
    assert browser.js("return state.x")[place] == 45e9
    typed.send_keys("\ue009a", "\ue000", "many\t")
    assert browser.js("return state.x")[place] == 45e9
    assert [browser.js("return compact(arguments[0])", v) for v in (64, 999.7e6, 1.5e12)] == ["64", "1B", "1.5T"]
    # A zero before the letter is a digit: 300 billion tokens were once 3B.
    assert [browser.js("return people(arguments[0])", v) for v in (300e9, 10e6)] == ["300B", "10M"]


def test_the_page_says_what_the_sliders_do_not_change(browser: Browser, many: FitResult) -> None:
    browser.open(page(many, View({"workers": 32, "batch": 32, "framework": "mxnet"})))
    before = browser.js("return [$('answers').textContent, $('about').textContent]")
    assert before[1].startswith("These answers, and the efficiency below, are for ")
    assert "workers=32" in before[1]
    assert "The sliders do not change them." in before[1]
    assert "predicted: ok" in browser.text("scaling")
    names = [f.name for f in many.schema.factors]
    browser.js("set(arguments[0], 40)", names.index("batch"))
    browser.settle()
    assert browser.js("return [$('answers').textContent, $('about').textContent]") == before
    # Nothing was run with a batch of 40.
    assert "predicted from other configurations: " in browser.text("scaling")
    assert "Nothing was run at these values" in browser.text("scaling-note")


def test_a_page_that_asks_for_the_kind_of_scaling(browser: Browser) -> None:
    """Nothing shows the work of a worker: the kind of scaling is asked for, and there is no line of perfect scaling."""
    runs = pd.DataFrame({"workers": [1, 2, 4, 8], "s": [9.0, 5.0, 3.0, 2.0]})
    browser.open(page(gp.fit(gp.read_table(runs, time="s", extrinsic="workers"), "amdahl", draws=20)))
    assert "is the scaling along workers weak or strong?" in browser.text("answers")
    assert browser.js("return document.getElementById('efficiency-card').hidden")
    assert browser.js("return document.querySelectorAll('.curve').length") > 0
    assert "perfect" not in browser.text("scaling")


def test_nodes_beside_workers_are_judged_as_in_python(browser: Browser) -> None:
    result = fitted(runs(), "generic", extrinsic="workers,nodes", intrinsic="batch", categorical="framework")
    browser.open(page(result))
    asked = {"batch": [16, 100], "workers": [8, 16, 32, 64], "nodes": [1, 2, 4, 8], "framework": "mxnet"}
    agrees(browser, result, machines(8, asked))
