"""A table stands wherever a model may: its columns are recognised, and the roles are printed as options."""

import io
import json
import pickle
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers import Shell, cases_in_text, csv_of, done, refusal, reply

import genperf as gp
from genperf.cli.decorators import assignments
from genperf.cli.options import pairs

RUNS = pd.DataFrame({"gpus": [1, 2, 4, 8], "batch": [32] * 4, "images_per_s": [410.2, 792.5, 1530.0, 2905.4]})
NETS = pd.concat([RUNS.assign(net="a"), RUNS.assign(net="b", images_per_s=RUNS.images_per_s / 2)])
FOLDER = {"runs.csv": RUNS.to_csv(index=False), "nets.csv": NETS.to_csv(index=False)}


@pytest.mark.parametrize("source", ["runs", "runs/*.csv", "runs.parquet", "runs.csv.gz"])
def test_every_command_reads_a_folder_a_pattern_and_other_files(shell: Shell, source: str) -> None:
    Path("runs").mkdir()
    for count, row in RUNS.set_index("gpus", drop=False).iterrows():
        row.to_frame().T.to_csv(f"runs/{count:g}.csv", index=False)
    RUNS.to_parquet("runs.parquet")
    RUNS.to_csv("runs.csv.gz", index=False)
    expected = reply(shell, "predict", "runs.csv", "--at", "gpus=16")
    for command in (("predict", source, "--at", "gpus=16", "--json"), ("explain", source), ("report", source)):
        out = done(shell, *command)
        if command[0] == "predict":
            assert json.loads(out)["predictions"] == expected["predictions"]


def test_check_tells_why(shell: Shell) -> None:
    _, out, _ = shell("check", "runs.csv", "--verbose")
    assert "gpus: setting: its header is a name of workers, whole numbers" in out
    assert "images_per_s: measured: its header or its unit is that of a rate" in out


@pytest.mark.parametrize(
    "call",
    [
        lambda source: gp.explain(source).frame(),
        lambda source: gp.suggest(source, {"gpus": 32}).frame(),
        lambda source: gp.optimize(source, {"gpus": [1, 2, 4, 8, 16]}).frame(),
        lambda source: pd.DataFrame([gp.ask(source, gpus=16).to_dict()["sentences"]]),
    ],
)
def test_python_takes_a_frame_a_path_a_table_or_a_model_alike(
    shell: Shell, call: Callable[[object], pd.DataFrame]
) -> None:
    model = gp.fit(RUNS)
    gp.save_model(model, "model.json")
    sources = (RUNS, "runs.csv", Path("runs.csv"), gp.read_table("runs.csv"), model, "model.json")
    first, *others = [call(source) for source in sources]
    for other in others:
        columns = [column for column in first if column in other and column != "next"]
        assert columns
        pd.testing.assert_frame_equal(first[columns], other[columns])


@pytest.mark.parametrize("command", ["check", "fit", "validate"])
def test_a_model_where_only_a_table_is_of_use_is_named(shell: Shell, command: str) -> None:
    assert shell("fit", "runs.csv", "-o", "model.json")[0] == 0
    assert "is a model, not a table of runs" in refusal(shell, command, "model.json")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: gp.read_table(RUNS, tiem="images_per_s"), "did you mean 'time'?"),
        (lambda: gp.read_table(RUNS[["gpus", "batch"]]), "--time COLUMN"),
        (lambda: gp.read_table(3), "not from int"),
        (lambda: gp.fit(RUNS, extrinsic="gpu"), "did you mean 'gpus'?"),
        (lambda: gp.ask(RUNS, nets="a"), "the table has no setting 'nets'"),
        (lambda: gp.compare(RUNS, gpus=8), "compare"),
        (lambda: gp.compare(RUNS, "32 vs 64 gpus"), "a mapping such as {'gpus': 64} or None, not '32 vs"),
        (lambda: gp.compare(RUNS, {"gpus": 8}, [3]), "compare: over is a text or a mapping"),
        (lambda: gp.compare(RUNS, {"gpus": 8}, {"gpus": 4}, price="cheap"), "'cheap' is not a price"),
        (lambda: gp.optimize(RUNS, "gpus"), "optimize: over is a mapping such as {'gpus': 64}, not 'gpus'"),
        (lambda: gp.optimize(RUNS, {"gpus": [8]}, goal=3), "optimize: goal is a Goal, not 3"),
        (lambda: gp.explain(RUNS, {"gpus": 8}, versus="gpus=4"), "explain: versus is a mapping"),
        (lambda: gp.explain(RUNS, knee=7), "explain: knee is True or False or a Knee, not 7"),
        (lambda: gp.suggest(RUNS, {"gpus": 64}, band="both"), "band is 'prediction' or 'confidence', not 'both'"),
        (lambda: gp.suggest(RUNS, {"gpus": 64}, within="10%"), "within is a number or None, not '10%'"),
        (lambda: gp.why(RUNS, "gpus=8"), "why: at is a mapping"),
        (lambda: gp.fit(RUNS, seed="x"), "fit: seed is a whole number, not 'x'"),
        (lambda: gp.fit(RUNS, seed=-1), "fit: seed is zero or more, not -1"),
        (lambda: gp.fit(RUNS, mapping={"gpus": ["batch"]}), "fit: mapping is a mapping"),
        (lambda: gp.optimize(RUNS, {"gpus": [8, None]}), "'gpus' is given None, which is no finite number"),
        (lambda: gp.why(RUNS, sound="fast"), "why: sound is a mapping"),
        (lambda: gp.explain(RUNS, at=8), "explain: at is a mapping"),
        (lambda: gp.report(RUNS, "page.html", table={}), "report: table is a Table or None, not {}"),
        (lambda: gp.fit(RUNS, None), "fit: model is a text, not None"),
        (lambda: gp.fit(RUNS).constants(5), "the interval must lie between 0 and 1, not 5"),
        (lambda: gp.fit(RUNS).predict({"gpus": 8}, interval="0.9"), "the interval must lie between 0 and 1"),
        (lambda: gp.fit(RUNS).predict({1: 8}), "the model has no factor '1'"),
        (lambda: gp.save_model(gp.fit(RUNS), "/"), "name a file in a folder that there is"),
        (lambda: gp.validate(RUNS, "linear", losss="log"), "did you mean 'loss'?"),
        (lambda: gp.ask(RUNS, gpus=8, roles={"tiem": "x"}), "did you mean 'time'?"),
        (lambda: gp.ask([[1, 2.0], [2, 2.1]], gpus=8), "not from list"),
        (lambda: gp.ask({"gpus": [1, 2], "img_s": [1.0]}, gpus=4), "the same length"),
    ],
)
def test_python_names_what_is_wrong(call: Callable[[], object], words: str) -> None:
    with pytest.raises(gp.GenperfError) as error:
        call()
    assert words in f"{error.value}"


@pytest.mark.parametrize(
    "written",
    [
        lambda frame: frame.to_dict("list"),
        lambda frame: frame.to_dict("records"),
        lambda frame: (row for row in frame.to_dict("records")),
        lambda frame: [*frame.itertuples(index=False)],
        lambda frame: frame.to_records(index=False),
        lambda frame: frame.set_index("gpus")["images_per_s"],
        lambda frame: io.StringIO(frame.to_csv(index=False)),
        lambda frame: io.BytesIO(frame.to_csv(index=False).encode()),
    ],
    ids=["columns", "rows", "generator", "named tuples", "records", "series", "text", "bytes"],
)
def test_what_python_holds_is_a_table(written: Callable[[pd.DataFrame], Any]) -> None:
    frame = RUNS[["gpus", "images_per_s"]]
    assert gp.ask(written(frame), gpus=64).value == gp.ask(frame, gpus=64).value


def test_a_duration_is_a_time_whatever_its_column_is_called() -> None:
    durations = pd.to_timedelta([100, 52, 27, 14], unit="s")
    for cells in (durations, pd.Series(durations.to_pytimedelta(), dtype=object)):
        assert "an epoch of 14" in str(gp.ask(pd.DataFrame({"gpus": [1, 2, 4, 8], "epoch": cells}), gpus=8))


def test_an_answer_is_pickled_and_json_whole() -> None:
    answer = gp.ask(RUNS, gpus=64, price="2/h")
    again = pickle.loads(pickle.dumps(answer))
    assert (str(again), again.card(), again.to_dict()) == (str(answer), answer.card(), answer.to_dict())
    for plain in (answer.to_dict(), gp.explain(RUNS, {"gpus": 8}, knee=True).to_dict()):
        json.dumps(plain, allow_nan=False)


def test_a_price_in_words_is_that_of_the_command(shell: Shell) -> None:
    ranking = gp.compare(RUNS, {"gpus": 8}, {"gpus": 4}, price="2/h").to_dict()
    status, out, _ = shell("compare", "runs.csv", "--at", "gpus=8", "--or", "gpus=4", "--price", "2/h", "--json")
    printed = json.loads(out)
    assert (status, printed["at"], printed["ranking"]) == (0, {"gpus": 8}, ranking["ranking"])


def test_predictions_have_the_index_of_their_rows() -> None:
    rows = RUNS.sort_values("gpus", ascending=False)
    rows["predicted"] = gp.fit(RUNS).predict(rows[["gpus"]])["throughput"]
    assert np.all(np.abs(rows["predicted"] / rows["images_per_s"] - 1) < 0.2)


def test_an_option_sets_several_factors_and_a_count_alone_is_the_workers(shell: Shell) -> None:
    written = done(shell, "predict", "nets.csv", "--at", "gpus=16,32", "--at", "net=b")
    assert done(shell, "predict", "nets.csv", "--at", "gpus=16,32,net=b") == written
    assert done(shell, "predict", "nets.csv", "--at", "16,32,net=b") == written
    grid = done(shell, "optimize", "nets.csv", "--over", "gpus=16,32", "--over", "net=a")
    assert done(shell, "optimize", "nets.csv", "--over", "16,32,net=a") == grid


def test_a_label_keeps_its_equals_signs() -> None:
    plain = ("gpus=16,layout=tp", "layout=tp=2,pp=4", "16,net=b", "batch=8,16", "time (ms)=a, memory (GB)=8")
    split = ("gpus=16", "layout=tp", "layout=tp=2,pp=4", "16", "net=b", "batch=8,16", "time (ms)=a", "memory (GB)=8")
    texts = (*plain, "b: AMP, FP32=8 , 4", "net=a (tp=2, pp=4),gpus * nodes=8")
    split = (*split, "b: AMP, FP32=8 , 4", "net=a (tp=2, pp=4)", "gpus * nodes=8")
    assert assignments(None, None, texts) == split  # type: ignore[arg-type]
    assert pairs(["layout=(tp=2, pp=4),gpus=8"], "--at", ["gpus", "pp"]) == {"layout": "(tp=2, pp=4)", "gpus": "8"}


@cases_in_text("command")
def test_a_role_that_is_named_wins_and_the_others_are_recognised(shell: Shell, command: tuple[str, ...]) -> None:
    pd.DataFrame({"p": [1, 2, 4, 8], "walk": [9.31, 4.87, 2.59, 1.53], "note": list("abcd")}).to_csv(
        "walks.csv", index=False
    )
    name, *rest = command
    for typed, read in (("", "--quantity walk --extrinsic p"), ("--time walk", "--time walk --extrinsic p")):
        status, out, errors = shell(name, "walks.csv", *typed.split(), *rest)
        # The causes of slow steps are those of a time.
        assert status == 0 or (not typed and "--why" in rest and "try: --time COLUMN" in errors), errors
        assert read in out + errors


@pytest.mark.parametrize("command", [("predict", "--at", "gpus=16"), ("explain",), ("report",)])
def test_the_columns_of_a_model_have_their_roles(shell: Shell, command: tuple[str, ...]) -> None:
    done(shell, "fit", "runs.csv", "--quick", "-o", "model.json")
    name, *rest = command
    assert "this is a model" in refusal(shell, name, "model.json", "--throughput", "images_per_s", *rest)
    # What the settings say of tables is not about a model.
    Path("genperf.toml").write_text('throughput = "images_per_s"\n')
    assert shell(name, "model.json", *rest)[0] == 0


@pytest.mark.parametrize(("sizes", "named"), [("7b 13b", "13B"), ("7B 13B", "13b"), ("7 13", "13B")])
def test_a_multiple_is_that_of_the_measured_values_at_every_door(shell: Shell, sizes: str, named: str) -> None:
    rows = [(n, s, 500 * n ** (0.95 - k / 50) / (k + 1)) for k, s in enumerate(sizes.split()) for n in (8, 16, 32)]
    Path("runs.csv").write_text("gpus,model,tokens_per_s\n" + "".join(f"{n},{size},{rate}\n" for n, size, rate in rows))
    written = dict(zip("ab", sizes.split(), strict=True))["b"]
    assert shell("fit", "runs.csv", "-o", "model.json")[0] == 0
    doors = (("ask", "runs.csv"), ("ask", "model.json"), ("predict", "runs.csv"), ("explain", "model.json"))
    for command, source in doors:
        asked = (command, source, "--at", "gpus=64", "--json", "--at")
        answers = [shell(*asked, f"model={m}") for m in (written, named)]
        assert answers[0][:2] == answers[1][:2], (command, source)
        assert answers[0][0] == 0


@cases_in_text("question, count")
def test_without_a_count_a_table_its_model_and_their_page_are_of_the_same_one(
    shell: Shell, question: tuple[str, ...], count: int | None
) -> None:
    rows = ((n, batch, 500 * batch / 32 * n**0.05) for n in (1, 2, 4, 8) for batch in (32, 64))
    of_groups = "net=b" in question
    Path("runs.csv").write_text(NETS.to_csv(index=False) if of_groups else csv_of("gpus,batch,step_ms", rows))
    done(shell, "fit", "runs.csv", "-o", "model.json")
    answer = reply(shell, "ask", "runs.csv", *question)
    assert count in (None, answer["at"]["gpus"])
    assert reply(shell, "ask", "model.json", *question)["at"] == answer["at"]
    done(shell, "report", "model.json", *question, "-o", "page.html")
    summaries = re.findall(r'"summary":{"value":([\d.e+-]+)', Path("page.html").read_text())
    assert float(summaries[-1]) == pytest.approx(answer["time"], rel=1e-6)


@cases_in_text("header, rows, at, same")
def test_a_question_has_one_answer_in_the_column_s_unit_at_every_door(
    shell: Shell, header: str, rows: list[tuple[float, ...]], at: str, same: str
) -> None:
    Path("t.csv").write_text(csv_of(header, rows))
    done(shell, "fit", "t.csv", "-o", "t.json")
    first, *answers = (reply(shell, "ask", s, "--at", q)["answers"][0] for q in (at, same) for s in ("t.csv", "t.json"))
    ends = {name: first[name] for name in ("value", "lower", "upper")}
    units = {"img/s/node": "images/s/node", "step_ms": "ms", "temps par itération (ms)": "ms"}
    assert (first["quantity"], first["unit"]) == (name := header.rpartition(",")[2], units.get(name, "s"))
    for answer in answers:
        assert {**answer, **ends} == first | {name: answer[name] for name in ("at", "sentences")}
        assert {name: answer[name] for name in ends} == pytest.approx(ends, rel=1e-9)
    times = [
        reply(shell, "predict", s, "--at", q)["predictions"][0]["time"] for q in (at, same) for s in ("t.csv", "t.json")
    ]
    times += [reply(shell, "compare", "t.json", "--at", q, "--or", q)["ranking"][0]["time"] for q in (at, same)]
    times += [reply(shell, "optimize", "t.json", "--over", q)["best"][0]["time"] for q in (at, same)]
    assert times == pytest.approx([times[0]] * len(times), rel=1e-9)


def test_nodes_of_devices_do_and_cost_what_the_devices_do_at_every_door(shell: Shell) -> None:
    steps = [(n, 8 * n, 0.2 * n**0.1) for n in (1, 2, 4, 8)]
    Path("gpus.csv").write_text(csv_of("nodes,gpus,step_s", steps))
    Path("each.csv").write_text(csv_of("nodes,gpus_per_node,step_s", [(n, 8, s) for n, _, s in steps]))
    named, price = ("--at", "nodes=16"), ("--price", "2/h", "--json")
    texts = [done(shell, "ask", f, *named, "--full") for f in ("gpus.csv", "each.csv")]
    assert all("each device is taken to keep its own. The efficiency is" in text for text in texts)
    costs = [json.loads(done(shell, "predict", f, *named, *price))["predictions"][0] for f in ("gpus.csv", "each.csv")]
    costs += [
        json.loads(done(shell, "optimize", f, *named, *price, "--minimize", "time"))["best"][0]
        for f in ("gpus.csv", "each.csv")
    ]
    assert [row["cost"] / row["time"] for row in costs] == pytest.approx([128 * 2 / 3600] * 4)
    assert "at 2 per gpu-hour" in shell("predict", "each.csv", *named, "--price", "2/h")[2]


def test_what_a_model_knows_nothing_of_is_never_silently_left_out(shell: Shell) -> None:
    Path("t.csv").write_text(csv_of("racks,gpus,step_s", [(n / 8, n, 0.2 * n**0.1) for n in (8, 16, 32, 64)]))
    done(shell, "fit", "t.csv", "-o", "t.json")
    for source in ("t.csv", "t.json"):
        assert "no factor of the model: racks" in done(shell, "ask", source, "--at", "gpus=64,racks=2", "--full")
    assert "is a number" in refusal(shell, "predict", "t.json", "--at", "racks=many")


def test_groups_that_cannot_be_asked_leave_the_others_an_answer(shell: Shell) -> None:
    rows = [(m, n, 8 * n, k * n**0.1) for k, m in enumerate("ab", 1) for n in (1, 2, 4)]
    Path("t.csv").write_text(csv_of("model,nodes,gpus,step_s", [*rows, ("c", 1, 8, 3.0), ("c", 1, 8, 3.1)]))
    done(shell, "fit", "t.csv", "-o", "t.json")
    for command, found in (("predict", "predictions"), ("compare", "ranking")):
        status, out, errors = shell(command, "t.json", "--at", "nodes=8", "--json")
        assert (status, [row["model"] for row in json.loads(out)[found]]) == (0, ["a", "b"]), errors
        assert re.search(r"c is not (predicted|compared): .*how many devices a node has", out + errors)
        refusal(shell, command, "t.json", "--at", "nodes=8,model=c")


def test_every_command_has_one_reading_of_names_with_counts(shell: Shell) -> None:
    """A name with a count in it, of runs of which one kind has no count: each kind is a series, in every command."""
    rates = [("base", 95.1), ("stage-1", 80.2), ("stage-2", 141.3), ("stage-4", 262.8)]
    Path("stages.csv").write_text("Setup,Speed\n" + "".join(f"{name},{rate} samples/s\n" for name, rate in rates))
    line = "read as: --throughput Speed --extrinsic stage --group 'Setup kind' --map workers=stage"
    at = ("--at", "stage=8", "--at", "Setup kind=stage", "--json")
    told = json.loads(shell("ask", "--full", "stages.csv", *at)[1])
    by_name = reply(shell, "ask", "stages.csv", "--at", "Setup=stage-8", words=True)
    assert by_name["answers"] == told["answers"]
    (ranked,) = (
        row
        for row in reply(shell, "compare", "stages.csv", "--at", "stage=8")["ranking"]
        if row["Setup kind"] == "stage"
    )
    told |= {end: told["answers"][0][end] for end in ("verdict", "reason")}
    ends = ("throughput", "throughput_lower", "throughput_upper", "verdict", "reason")
    assert {end: ranked[end] for end in ends} == {end: told[end] for end in ends[3:]} | {
        end: pytest.approx(told[end]) for end in ends[:3]
    }
    out = done(shell, "explain", "stages.csv", "--group", "stage", "--at", "stage=8", "--json")
    step = sum(term["seconds"] for term in json.loads(out)["terms"] if term["stage"] == 8.0)
    assert step == pytest.approx(8.0 / told["throughput"], rel=0.03)
    printed = [
        shell("ask", "--full", "stages.csv", "--at", "Setup=stage-8")[1],
        shell("compare", "stages.csv", "--at", "stage=8")[2],
        shell("explain", "stages.csv", "--group", "stage")[2],
        shell("report", "stages.csv", "-o", "page.html")[2],
        shell("fit", "stages.csv", "-o", "stages.json")[2],
        shell("suggest", "stages.csv", "--group", "stage", "--target", "stage=8")[2],
        shell("optimize", "stages.csv", "--over", "stage=1:8")[2],
        shell("validate", "stages.csv", "--models", "amdahl", "--scheme", "leave-one-out")[2],
    ]
    assert [line in text for text in printed] == [True] * len(printed)
    of_model = json.loads(shell("ask", "--full", "stages.json", *at)[1])
    assert of_model["throughput"] == told["throughput"]
    # All smaller counts were measured: the target is the run to make.
    assert told["sentences"]["next"].startswith("Measure stage=8. Its interval")


def test_python_validates_and_reports_a_frame_or_a_path(shell: Shell) -> None:
    errors = [gp.validate(source, "amdahl", "leave-one-out").frame() for source in (RUNS, "runs.csv")]
    pd.testing.assert_frame_equal(*(one.drop(columns="seconds") for one in errors))
    for source in (RUNS, "runs.csv"):
        assert gp.report(source, "page.html").stat().st_size > 100_000


def test_what_was_the_same_in_every_run_says_no_count_at_any_door(shell: Shell) -> None:
    """A question of it alone is one of twice the largest count, and blind where the runs had another value."""
    runs = csv_of("num_executors,executor_cores,duration_s", ((n, 4, 200 / n + 30) for n in (2, 4, 8, 16)))
    Path("runs.csv").write_text(runs)
    for cores in (4, 256):
        answer = reply(shell, "ask", "runs.csv", "--at", f"executor_cores={cores}")
        (row,) = reply(shell, "predict", "runs.csv", "--at", f"executor_cores={cores}")["predictions"]
        assert (row["num_executors"], answer["at"]["num_executors"]) == (32, 32)
        assert row["time"] == pytest.approx(answer["time"])
        assert row["verdict"] == answer["verdict"]
        assert (row["verdict"] == "extrapolating-blind") == (cores == 256)


READ_BACK = {
    "rows of quantities": "metric,value,nodes,gpus\n"
    + "".join(
        f"images/s,{v},{n},{8 * n}\nstep_s,{64 * n / v},{n},{8 * n}\n" for n, v in ((1, 100), (2, 190), (4, 370))
    ),
    "on its side": "GPUs,8,16,32,64\nTokens/s,81136,160796,322568,629128\n",
    "rates of a device below its models": "model,8 GPUs,16 GPUs,32 GPUs\na,10 tok/s/GPU,9.8 tok/s/GPU,9.7 tok/s/GPU\n",
    "a colon in a header": "nodes,epoch (mm:ss)\n1,10:48\n2,5:27\n4,2:50\n",
    "servers mapped": "servers,gpus,images/s\n1,4,2790\n2,8,5310\n3,12,7700\n4,16,10100\n",
    "cores derived": csv_of(
        "ranks,threads,time [s]", ((r, t, 95 / (r * t) ** 0.9) for r in (1, 2, 4, 8) for t in (1, 2))
    ),
    "runs that failed": "gpus,bs,status,step_ms\n8,2,ok,222\n16,2,timeout,\n32,2,ok,242\n64,2,ok,248\n64,4,OOM,\n",
}


@pytest.mark.parametrize("form", READ_BACK)
def test_what_a_table_is_read_as_gives_the_same_answer_as_options(shell: Shell, form: str) -> None:
    Path("form.csv").write_text(READ_BACK[form])
    (line,) = re.findall(r"(?m)^read as: (.*?)(?:; left out: .*)?$", done(shell, "ask", "form.csv", "--full"))
    alone, as_options = (reply(shell, "ask", "form.csv", *shlex.split(options)) for options in ("", line))
    # A rate of unknown work has no time.
    ends = ("time", "lower") if "time" in alone else ("throughput", "throughput_lower")
    assert as_options["at"] == alone["at"]
    assert [as_options[end] for end in ends] == pytest.approx([alone[end] for end in ends], rel=1e-9)
    # Runs in the form of the table are verified by its model.
    done(shell, "fit", "form.csv", "-o", "model.json", "--quiet")
    assert "inside" in done(shell, "verify", "model.json", "form.csv")


def test_variants_that_headers_name_are_compared(shell: Shell) -> None:
    rows = [f"{n},{300 / n + 4:.4g},{250 / n + 5:.4g}" for n in (1, 2, 4, 8, 16)]
    Path("wide.csv").write_text("\n".join(["GPUs,PyTorch epoch (s),JAX epoch (s)", *rows]))
    for at in ("GPUs=16", "which is fastest at 16"):
        ranking = reply(shell, "compare", "wide.csv", "--at", at)["ranking"]
        times = {row["variant"]: row["time"] for row in ranking}
        assert times == {"JAX": pytest.approx(20.6, rel=0.02), "PyTorch": pytest.approx(22.75, rel=0.02)}


#: Tables whose headers and cells are several words, the words of a question, and what the answer is of.
PHRASES = (
    ("Num of GPU cards,samples/s\n1,68\n2,125\n4,230\n", ("8", "GPU", "cards"), "Num of GPU cards=8"),
    ("mpi-process-per-gpu,s\n1,1.1\n2,1.9\n4,3.7\n", ("8 mpi processes per gpu",), "mpi-process-per-gpu=8"),
    ("barrier,threads,s\nNew Barrier,2,3\nOld Barrier,2,1\nNew Barrier,4,8\n", ("8 threads", "new barrier"), "New"),
    ("gpu,gpus,s\nRTX 3090 Ti,1,4\nRTX 3090 Ti,2,2.1\nA100 PCIe,1,3\n", ("4 gpus rtx 3090 ti",), "gpu=RTX 3090 Ti"),
    ("nodes,Ranks/Node,s\n1,4,9\n1,8,6\n2,4,5\n2,8,3.2\n", ("4 nodes", "Ranks/Node=8"), "at nodes=4"),
    (
        "solver,ranks,grid,s\ncg,1,8,4\ncg,2,8,2.1\nmg,1,16,9\nmg,2,16,5\n",
        ("4 MPI ranks with grid size 16",),
        "grid=16",
    ),
    ("Threads,s\nserial,8.4\n1 thread,8.6\n2 threads,4.4\n", ("4 threads",), "threads=4"),
    ("| 1 RTX 3090 | 2 RTX 3090 |\n|-|-|\n| 842 img/s | 1640 img/s |\n", ("4 RTX 3090",), "devices=4"),
)


@pytest.mark.parametrize(("text", "words", "asked"), PHRASES, ids=[words[0] for _, words, _ in PHRASES])
def test_words_behind_a_table_spell_its_headers_and_cells(
    shell: Shell, text: str, words: tuple[str, ...], asked: str
) -> None:
    Path("runs.csv").write_text(text)
    assert asked in done(shell, "ask", "runs.csv", *words, "--full")


def test_words_before_a_table_are_a_question_as_behind_it(shell: Shell) -> None:
    """They were a file that holds no run, and the answer was of twice the largest count."""
    question = "how fast on 64 gpus with batch 32"
    behind = done(shell, "ask", "runs.csv", question, "--price", "2/h")
    assert "64 gpus" in behind
    for words in ((question,), question.split(), ("--price", "2/h", question)):
        assert done(shell, *words, "runs.csv", "--price", "2/h") == behind
    # A pattern is a file as well, and so is what is piped.
    assert "64 gpus" in done(shell, "r*s.csv", question)
    assert "64 gpus" in done(shell, question, "r*s.csv")
    assert done(shell, "./runs.csv", "./runs.csv", question).startswith("runs.csv and 1 more")
    # A file that does not exist is no file without a run.
    assert "more.csv: no such file" in refusal(shell, "ask", "more.csv", "runs.csv")
    assert "no such file" in refusal(shell, "ask", "those of more.csv", "runs.csv")
    status, _, errors = shell("runs.csv", "--gpus", "64")
    assert status == 2
    assert "A factor is set by --at gpus=VALUE" in errors


@pytest.mark.parametrize("command", ["compare", "explain", "optimize", "predict", "report", "suggest"])
def test_words_around_a_table_are_its_configuration_at_every_door(shell: Shell, command: str) -> None:
    """They were unexpected arguments, with the option that takes them."""
    runs = "nets.csv" if command == "compare" else "runs.csv"
    printed = done(shell, command, runs, "--at", "gpus=64", "--json")
    assert done(shell, command, runs, "64", "gpus", "--json") == printed
    assert done(shell, command, "on 64 gpus", runs, "--json") == printed
    status, _, errors = shell(command, runs, "64 gpus", "nosuch.csv")
    assert status == 2
    assert "unexpected words (64 gpus nosuch.csv)" in errors
    assert "more.csv: no such file" in refusal(shell, command, "more.csv", "64", "gpus")


def test_several_files_are_one_table_at_every_door(shell: Shell) -> None:
    """As a shell hands on a pattern without quotes; `fit` and `explain` took one file."""
    for number in (1, 2):
        RUNS.iloc[number - 1 :: 2].to_csv(f"part{number}.csv", index=False)
    of_pattern = done(shell, "explain", "part*.csv", "64 gpus")
    assert done(shell, "explain", "part1.csv", "part2.csv", "64 gpus") == of_pattern
    assert "part1.csv and 1 more" in done(shell, "fit", "part1.csv", "part2.csv", "-o", "m.json")
    assert "unexpected words (nosuch.csv)" in shell("fit", "part1.csv", "nosuch.csv", "-o", "m.json")[2]


def test_two_levels_are_compared_alike_by_ask_and_compare(shell: Shell) -> None:
    """`ask` took their errors for independent: 1.6 x as fast, but not surely."""
    runs = ["8,64,fp16,.31", "8,128,fp16,.6", "16,64,fp16,.33", "16,128,fp16,.62", "32,64,fp16,.37", "32,128,fp16,.66"]
    runs += ["8,64,fp32,.55", "8,128,fp32,1.08", "16,64,fp32,.57", "32,64,fp32,.61"]
    Path("levels.csv").write_text("\n".join(["gpus,batch,precision,step_s", *runs]))
    question = "fp16 vs fp32 with batch 64 on 64 gpus"
    answer = " ".join(done(shell, "levels.csv", question).split())
    found = re.search(r"fp16 is fastest: (\S+) x as fast as precision=fp32 \(90 %: (\S+) to (\S+)\)", answer)
    compared = done(shell, "compare", "levels.csv", question)
    longer = re.search(r"fp32 takes (\d+) % longer \(90 %: (\d+) to (\d+) %\)", compared)
    assert found is not None
    assert longer is not None
    assert [float(n) for n in found.groups()] == pytest.approx([1 + int(n) / 100 for n in longer.groups()], abs=0.02)


@pytest.mark.parametrize("role", ["group", "time", "throughput", "quantity"])
def test_a_role_of_a_column_that_is_not_there_is_refused_at_every_door(shell: Shell, role: str) -> None:
    for command in (("ask", "--at", "64"), ("check",), ("fit", "-o", "m.json")):
        assert f"no column 'precision' (named as {role})" in refusal(
            shell, *command, "runs.csv", f"--{role}", "precision"
        )


@pytest.mark.parametrize("command", ["predict", "explain", "suggest", "compare"])
def test_words_are_a_configuration_in_every_command(shell: Shell, command: str) -> None:
    """They had to begin with a number: `batch 32 on 16 gpus` was refused, and so was `gpus 16`."""
    table = "nets.csv" if command == "compare" else "runs.csv"
    expected = done(shell, command, table, "--at", "gpus=16", "--at", "batch=32")
    for words in ("how fast on 16 gpus with batch 32", "gpus 16, batch 32", "16 gpus batch 32"):
        assert done(shell, command, table, "--at", words) == expected
    assert shell(command, table, "--at", "gpus")[0] == 2


def test_an_empty_row_of_a_frame_changes_nothing() -> None:
    """It stood among the cells from which the columns' meaning is found, and moved the answer by 1 %."""
    grid = [
        (p, n, b, b * n / (0.05 + q * b))
        for p, q in (("fp32", 0.004), ("bf16", 0.002))
        for n in (1, 2, 4)
        for b in (16, 32, 64)
    ]
    runs = pd.DataFrame(grid, columns=["precision", "gpus", "batch", "samples_per_s"])
    empty = pd.concat([runs, pd.DataFrame([dict.fromkeys(runs)])], ignore_index=True)
    first, second = (gp.ask(table, at={"gpus": 8, "precision": "bf16", "batch": 32}) for table in (runs, empty))
    assert (first.value, first.read_as) == (second.value, second.read_as)
    assert "1 row without a filled cell left out" in second.notes


def test_json_has_what_the_card_shows_beside() -> None:
    plain = gp.ask(RUNS, gpus=64, price="2/h").to_dict()
    assert (plain["runs"], plain["counts"], plain["start"]["count"]) == (4, [1, 8], 8)
    assert plain["start"]["throughput"] == pytest.approx(2905.4)
    assert plain["start"]["cost_per_million"] == pytest.approx(8 * 2 / 3600 / 2905.4 * 1e6)
    assert plain["cost_per_million_lower"] < plain["cost_per_million"] < plain["cost_per_million_upper"]
    after, now = plain["next"], plain["efficiency_upper"] - plain["efficiency_lower"]
    assert after["runs"]
    assert after["efficiency_upper"] - after["efficiency_lower"] < now
