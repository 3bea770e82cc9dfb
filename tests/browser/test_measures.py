"""The switch between time, throughput, cost and duration; a measured throughput first; two groups side by side; PNG."""

import base64
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from chromium import Browser, page
from test_report_page import fitted, runs

import genperf as gp
from genperf.reporting import View
from genperf.result import FitResult, GroupedResult

FOUR = pd.DataFrame({"gpus": [1, 2, 4, 8], "images_per_s": [410.2, 792.5, 1530.0, 2905.4]})


#: The group slow is shown, and quick beside it.
BESIDE_QUICK = """
  const place = (name) => PAGE.groups.findIndex((g) => nameOf(g) === name), s = $('beside');
  choose(place('slow'));
  s.value = place('quick');
  s.dispatchEvent(new Event('change'));"""


@pytest.fixture(scope="module")
def rates() -> FitResult:
    return gp.fit(FOUR, throughput="images_per_s", extrinsic="gpus")


@pytest.fixture(scope="module")
def groups() -> GroupedResult:
    parts = [runs(scale, seed=k).query("framework == 'mxnet'").assign(net=name)
             for k, (name, scale) in enumerate({"slow": 3.0, "quick": 1.0, "alike": 1.01}.items())]  # fmt: skip
    return fitted(pd.concat(parts), "generic", intrinsic="batch", group="net")


def choose(browser: Browser, measure: str) -> None:
    browser.driver.find_element("css selector", f"#measure-{measure}").send_keys(" ")
    browser.settle()


def test_a_measured_throughput_is_what_the_page_speaks(browser: Browser, rates: FitResult) -> None:
    browser.open(page(rates))
    expected = rates.predict(gpus=16).iloc[0]
    assert f" expect {float(f'{expected.throughput:.3g}'):,.0f} images/s instead of " in browser.text("first")
    assert browser.js("return $('measures').hidden")
    assert float(browser.js("return $('value').dataset.shown")) == pytest.approx(expected.throughput, rel=1e-9)
    assert browser.text("value").endswith(" images/s")
    assert browser.text("interval").endswith(" images/s")
    assert browser.text("scaling-heading") == "Along the scale: throughput (images/s), predicted and measured"
    # The seconds of one unit of the work stand nowhere but in the expert parts.
    shown = browser.js("return $('main').innerText")
    assert "share of the time (%)" in browser.text("stack")
    assert "time (s)" not in shown
    assert " s " not in shown
    assert "throughput (column images_per_s)410 to 2,910 images/s" in browser.text("facts")


@pytest.mark.parametrize(("column", "whole"), [("mfu", 1.0), ("MFU (%)", 100.0)])
def test_a_share_of_the_peak_is_one_number_at_every_door(browser: Browser, column: str, whole: float) -> None:
    frame = pd.DataFrame({"gpus": [8, 16, 32, 64], column: whole * np.array([0.42, 0.40, 0.37, 0.33])})
    result = gp.fit(gp.read_table(frame))
    of_table, of_model = (gp.ask(source, gpus=128).answers[0] for source in (frame, result))
    assert 0.2 * whole < of_table.value < 0.33 * whole
    assert (of_model.quantity, of_model.unit) == (of_table.quantity, of_table.unit)
    assert of_model.expected.ends == pytest.approx(of_table.expected.ends)
    browser.open(page(result, View({"gpus": 128})))
    label, unit, value = browser.js(
        "return [measure().label, measure().unit(), measure().of(sheet.summary.value, sheet.at, sheet)]"
    )
    assert (label, unit, value) == (of_table.quantity, of_table.unit, pytest.approx(of_table.value, rel=1e-6))


def test_the_axis_is_switched_and_kept_in_the_address(browser: Browser, groups: GroupedResult) -> None:
    result = groups["slow"]
    browser.open(page(groups))
    browser.js("choose(PAGE.groups.findIndex((g) => nameOf(g) === 'slow'))")
    assert browser.texts("#measures label") == ["time", "throughput"]
    before = browser.js("return document.querySelector('#scaling .curve').getAttribute('d')")
    choose(browser, "throughput")
    x = browser.js("return Object.fromEntries(sheet.factors.map((f, i) => [f.name, state.x[i]]))")
    row = result.predict(x).iloc[0]
    work = x["batch"] * x["workers"]
    assert float(browser.js("return $('value').dataset.shown")) == pytest.approx(work / row["time"], rel=1e-9)
    assert browser.text("value").endswith(" samples/s")
    # The longest time is the least throughput.
    low, high = browser.js("return (({ lower, upper }) => [lower, upper])(inMeasure(predict(state.x), state.x))")
    assert (low, high) == pytest.approx((work / row["upper"], work / row["lower"]), rel=1e-9)
    assert browser.js("return document.querySelector('#scaling .curve').getAttribute('d')") != before
    assert "throughput (samples/s)" in browser.text("overview")
    link = browser.js("return location.href")
    assert "show=throughput" in link
    browser.driver.get("about:blank")
    browser.driver.get(link)
    assert browser.js("return document.querySelector('input[name=measure]:checked').value") == "throughput"


def test_price_and_work_bring_cost_and_duration(browser: Browser, rates: FitResult) -> None:
    browser.open(page(rates))
    price, size = (browser.driver.find_element("id", f"job-{key}") for key in ("price", "size"))
    price.send_keys("2\t")
    assert browser.texts("#measures label") == ["throughput", "cost"]
    size.send_keys("1B\t")
    assert browser.texts("#measures label") == ["throughput", "cost", "duration"]
    rate = rates.predict(gpus=16)["throughput"][0]
    choose(browser, "duration")
    assert float(browser.js("return $('value').dataset.shown")) == pytest.approx(1e9 / rate / 86400, rel=1e-9)
    choose(browser, "cost")
    assert float(browser.js("return $('value').dataset.shown")) == pytest.approx(2 * 16 * 1e9 / rate / 3600, rel=1e-9)
    sentence = browser.text("job-result")  # to three digits
    number = r"([\d,.]+)"
    ends = rf"{number} \(90 %: {number} to {number}\)"
    match = re.fullmatch(
        rf"1B images take {ends} days, {number} hours of gpus, for {ends} at 2 per gpu-hour\.", sentence
    )
    assert match, sentence
    days, shortest, longest, hours, cost, least, most = (float(text.replace(",", "")) for text in match.groups())
    row = rates.predict(gpus=16).iloc[0]
    seconds = [1e9 / row[name] for name in ("throughput", "throughput_upper", "throughput_lower")]
    assert [days, shortest, longest] == pytest.approx([s / 86400 for s in seconds], rel=0.006)
    assert hours == pytest.approx(16 * seconds[0] / 3600, rel=0.006)
    assert [cost, least, most] == pytest.approx([2 * 16 * s / 3600 for s in seconds], rel=0.006)
    browser.driver.get("about:blank")
    browser.driver.get(f"{browser.folder.joinpath('report.html').as_uri()}#show=cost&price=2&size=1e9")
    assert [browser.js(f"return $('job-{key}').value") for key in ("price", "size")] == ["2", "1B"]
    assert browser.js("return document.querySelector('input[name=measure]:checked').value") == "cost"
    # One unit for the job: minutes, hours or days.
    browser.js("JOB.size = 1e6; measureChanged()")
    assert browser.js("return headingOf(MEASURES.duration)") == "minutes for a job of 1M images"
    browser.js("JOB.size = 1e9; measureChanged()")
    assert browser.js("return headingOf(MEASURES.duration)") == "days for a job of 1B images"
    # What is no number is taken back.
    browser.driver.find_element("id", "job-price").send_keys("\ue009a", "\ue000", "much\t")
    assert browser.texts("#measures label") == ["throughput", "duration"]


def test_a_page_is_written_with_a_price_and_a_job(browser: Browser, rates: FitResult) -> None:
    browser.open(page(rates, View({"gpus": 16}, price="48/d", samples="30M")))
    assert browser.texts("#measures label") == ["throughput", "cost", "duration"]
    assert browser.js("return JOB") == {"price": 2, "size": 3e7}


def test_two_groups_side_by_side(browser: Browser, groups: GroupedResult) -> None:
    browser.open(page(groups))
    assert browser.js("return $('beside-result').hidden")
    browser.js(BESIDE_QUICK)
    browser.settle()
    x = browser.js("return Object.fromEntries(sheet.factors.map((f, i) => [f.name, state.x[i]]))")
    first, second = (groups[name].predict(x).iloc[0] for name in ("slow", "quick"))
    less = 100 * (1 - second["time"] / first["time"])
    assert browser.text("beside-sentence") == f"quick takes {float(f'{less:.3g}'):g} % less time than slow."
    cells = browser.texts("#beside-result tbody tr > :nth-child(2)")
    assert [float(c) for c in cells] == pytest.approx([first["time"], second["time"]], rel=5e-3)
    assert browser.js("return document.querySelectorAll('.other').length") == 1
    choose(browser, "throughput")
    assert "more throughput" in browser.text("beside-sentence")
    link = browser.js("return location.href")
    # A likeness is not taken for a difference.
    browser.js(BESIDE_QUICK.replace("slow", "alike"))
    assert "likely, not certain: the intervals overlap" in browser.text("beside-sentence")
    browser.driver.get("about:blank")
    browser.driver.get(link)
    names = browser.js("return [state.group, state.beside, +$('beside').value].map((i) => nameOf(PAGE.groups[i]))")
    assert names == ["slow", "quick", "quick"]
    # The same group beside itself is none.
    browser.js("choose(state.beside)")
    assert browser.js("return [state.beside, $('beside-result').hidden]") == [None, True]


@pytest.mark.parametrize("dark", [False, True])
def test_a_figure_is_saved_as_png(browser: Browser, rates: FitResult, dark: bool) -> None:
    browser.open(page(rates), dark=dark)
    picture: Any = browser.driver.execute_async_script("""
      const done = arguments[0];
      painted($("scaling")).then((blob) => blob.arrayBuffer()).then((b) =>
        done(btoa([...new Uint8Array(b)].map((v) => String.fromCharCode(v)).join(""))))
        .catch((e) => done(String(e)));""")
    data = base64.b64decode(picture)
    assert data.startswith(b"\x89PNG")
    width, height = (int.from_bytes(data[k : k + 4], "big") for k in (16, 20))
    assert width > 600
    assert height > 400
    # Its ground is that of the page, and the curve is drawn on it.
    colors = browser.driver.execute_async_script(
        """
      const done = arguments[1], image = new Image();
      image.onload = () => {
        const c = h("canvas", { width: image.width, height: image.height }), pen = c.getContext("2d");
        pen.drawImage(image, 0, 0);
        const d = pen.getImageData(0, 0, image.width, image.height).data, kinds = new Set();
        for (let i = 0; i < d.length; i += 4) kinds.add(`${d[i] >> 5},${d[i + 1] >> 5},${d[i + 2] >> 5}`);
        done([[d[0], d[1], d[2]], kinds.size]);
      };
      image.src = `data:image/png;base64,${arguments[0]}`;""",
        picture,
    )
    assert np.mean(colors[0]) < 100 if dark else np.mean(colors[0]) > 200
    assert colors[1] > 8


def test_the_switch_is_used_with_the_keyboard(browser: Browser, groups: GroupedResult) -> None:
    browser.open(page(groups))
    browser.driver.find_element("id", "measure-value").send_keys("\ue014")  # arrow right
    assert browser.js("return [state.measure, document.activeElement.id]") == ["throughput", "measure-throughput"]
    assert browser.js("return $('measures').querySelector('legend').textContent") == "Show"


def test_long_runs_are_in_the_unit_that_suits_them(browser: Browser) -> None:
    """Of jobs of hours the card has hours: so have the figures, their tables and the range of what was measured."""
    hours = pd.DataFrame({"nodes": [1, 2, 4, 8], "total_hours": [42.46, 21.4, 11.4, 6.519]})
    browser.open(page(gp.fit(hours, time="total_hours", extrinsic="nodes", scaling="job"), View({"nodes": 16})))
    assert browser.text("value").endswith(" hours")
    assert float(browser.js("return $('value').dataset.shown")) == pytest.approx(4.26, rel=0.1)
    assert "time (column total_hours)6.52 hours to 42.5 hours" in browser.text("facts")
    assert "time (hours)" in browser.text("scaling-heading")
    assert "time (hours)" in browser.text("stack")
