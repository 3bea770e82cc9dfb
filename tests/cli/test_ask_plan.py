"""How many machines a piece of work takes: `ask --samples --deadline --budget`, and the same on the page."""

import re
from pathlib import Path

import pytest
from helpers import Shell, asked, cases_in_text, csv_of, done, refusal, reply, told

import genperf as gp

RUNS = "gpus,images_per_s\n1,410\n2,792\n4,1530\n8,2905\n"
TWO = "gpus,nodes,images_per_s\n8,1,2900\n16,2,3540\n"
HOUR, DAY = 3600.0, 86400.0
FOLDER = {"runs.csv": RUNS, "two.csv": TWO}


def plan(shell: Shell, *options: str) -> dict[str, float]:
    return reply(shell, "ask", *options, words=True)["plan"]


def test_the_cheapest_count_keeps_deadline_and_budget_by_their_upper_ends(shell: Shell) -> None:
    job = ("runs.csv", "--samples", "1.2B", "--price", "2/h")
    loose = plan(shell, *job)
    assert loose["gpus"] == 1
    # 1.2e9/2905 s on 8 GPUs are 4.78 days, and 4 GPUs take 9.1.
    kept = plan(shell, *job, "--deadline", "5d", "--budget", "20000")
    assert 4 < kept["gpus"] <= 8
    assert kept["total_lower"] < kept["total"] < kept["total_upper"] <= 5 * DAY
    assert kept["cost"] == pytest.approx(kept["gpus"] * kept["total"] / HOUR * 2.0)
    assert kept["cost_upper"] / kept["cost"] == pytest.approx(kept["total_upper"] / kept["total"])
    assert kept["cost_upper"] <= 20000
    assert kept["fastest"]["total"] < kept["total"]
    assert kept["fastest"]["cost"] > kept["cost"]
    # What every count fits by its central cost is kept by the upper end as well.
    tight = plan(shell, *job, "--deadline", "5d", "--budget", str(1.001 * kept["cost_upper"]))
    assert tight["gpus"] == kept["gpus"]


def test_a_plan_that_nothing_keeps_is_a_sentence(shell: Shell) -> None:
    job = ("ask", "--full", "two.csv", "--samples", "1.2B", "--price", "2/h")
    out = done(shell, *job, "--deadline", "1h")
    fastest = (
        r"within 60 min, none of 8 to 256 gpus is enough\. Nearest comes \d+, which takes [\d.]+ h and up to [\d.]+"
    )
    assert re.search(fastest, out)
    assert "images/s at gpus=256" in out
    text = "for 1 at most, none of 8 to 256 gpus is enough. Nearest comes 8, which costs 1,8"
    assert text in done(shell, *job, "--budget", "1")


def test_steps_of_unknown_work_have_no_plan(shell: Shell) -> None:
    Path("steps.csv").write_text("gpus,step_s\n1,0.20\n2,0.21\n4,0.23\n")
    assert "a plan needs the work of a step" in refusal(shell, "ask", "--full", "steps.csv", "--samples", "1B")
    assert shell("ask", "--full", "steps.csv", "--samples", "1B", "--work", "32*gpus")[0] == 0
    # No count of this split, of twelve stages, fills whole nodes of the usual size.
    assert plan(shell, str(Path(gp.__file__).parents[1] / "data/bigscience.csv"), "--samples", "1M")["devices"] > 0


def test_a_plan_keeps_the_batch_that_is_named(shell: Shell) -> None:
    rows = ((n, 32 * n, 2048, 0.2 * n**0.08) for n in (1, 2, 4, 8))
    Path("runs.csv").write_text(csv_of("gpus,global_batch,seq_len,step_s", rows))
    job = ("runs.csv", "--at", "global_batch=256")
    answer = reply(shell, "ask", *job, "--samples", "1M")
    assert answer["plan"]["total"] == pytest.approx(1e6 / answer["throughput"], rel=1e-9)
    # Beside another machine, and in tokens, of which a page takes none for samples.
    of_tokens = (*job, "--at", "gpus=16", "--tokens", "2048M", "--deadline", "9d")
    assert plan(shell, *of_tokens)["total"] == pytest.approx(answer["plan"]["total"], rel=1e-9)
    done(shell, "report", *of_tokens, "-o", "page.html")
    assert '"size":null' in Path("page.html").read_text(encoding="utf-8")


def test_a_plan_answers_first_for_devices_that_no_column_counts(shell: Shell) -> None:
    Path("runs.csv").write_text("nodes,gpus_per_node,images_per_s\n1,8,1660\n2,8,2840\n4,8,5290\n8,8,10300\n")
    job, devices = ("runs.csv", "--samples", "1B", "--deadline", "9d"), ("--at", "gpus=64")
    named = [reply(shell, "ask", *job, "--at", at)["plan"]["named"] for at in ("gpus=64", "nodes=8")]
    assert [one["nodes"] for one in named if one == named[0]] == [8, 8]
    kept = r"● done within 9 d; cheapest with 1 node: [\d.]+ d and [\d,]+ gpu-hours\n"
    assert re.search(kept, done(shell, "ask", *job, *devices))
    assert "of 1 to 128 nodes the cheapest within 9 d" in done(shell, "ask", *job)


COUNTS = (8, 16, 32, 64)
#: The rate of a device of a layout, made into the time of a step; and networks as series, whose sequence is one number.
TOKENS = {
    "a layout": csv_of("dp,tp,seq_len,gbs,tokens_per_s_per_gpu",
                       ((n // 2, 2, 2048, 4 * n, 5000 / n**0.1) for n in COUNTS)),
    "networks": csv_of("net,gpus,seq_len,batch_per_gpu,samples_per_s",
                       ((net, n, 2048, 4, r * n**0.9) for net, r in (("a", 2), ("b", 3)) for n in COUNTS)),
}  # fmt: skip


@pytest.mark.parametrize("text", TOKENS.values(), ids=TOKENS)
def test_tokens_take_as_long_at_every_door(shell: Shell, text: str) -> None:
    Path("runs.csv").write_text(text)
    done(shell, "fit", "runs.csv", "-q", "-o", "m.json")
    asked = ("--at", "gpus=128,net=a" if "net" in text else "gpus=128", "--tokens", "300B")
    answers = [reply(shell, "ask", source, *asked) for source in ("runs.csv", "m.json")]
    assert answers[0]["throughput"] == pytest.approx(answers[1]["throughput"], rel=1e-9)
    days = 300e9 / answers[0].get("tokens_per_s", answers[0]["throughput"]) / 86400
    assert [answer["days"] for answer in answers] == pytest.approx([days] * 2, rel=1e-6)
    assert plan(shell, "runs.csv", *asked, "--deadline", "900d")["named"]["total"] / DAY == pytest.approx(
        days, rel=1e-6
    )
    optimum = reply(shell, "optimize", "runs.csv", *asked)["best"][0]
    assert optimum["total"] / DAY == pytest.approx(days, rel=1e-6)


@pytest.mark.usefixtures("all_draws")
def test_optimize_keeps_a_budget(shell: Shell) -> None:
    search = ("optimize", "two.csv", "--over", "gpus=8:64:8", "--samples", "1.2B")
    answer = reply(shell, *search, "--price", "2/h", "--budget", "3200")
    assert all(row["cost"] * row["upper"] / row["time"] <= 3200 for row in [*answer["best"], *answer["front"]])
    # Central costs of four counts are below it; the upper ends of three are not.
    assert (answer["feasible"], len(answer["best"])) == (4, 1)
    assert "a budget needs a price" in shell(*search, "--budget", "3200")[2]
    errors = refusal(shell, *search, "--price", "2/h", "--budget", "2000")
    assert "the upper end of the cost is above 2000 for each of the 1 best" in errors
    cheapest = refusal(shell, *search, "--price", "2/h", "--budget", "20", "--deadline", "30d")
    assert "no configuration costs at most 20: the cheapest costs 1,8" in cheapest


JOBS = csv_of("gpus,time_to_train_min", ((8, 29.4), (16, 15.5), (32, 8.24), (64, 4.75), (128, 2.88)))


def test_of_a_timed_job_the_job_is_the_work(shell: Shell) -> None:
    Path("jobs.csv").write_text(JOBS)
    kept = plan(shell, "jobs.csv", "--deadline", "3min")
    assert kept["gpus"] > 128
    assert 150 < kept["total"] < kept["total_upper"] <= 180
    # Who names a budget alone asks how fast it gets. 8 GPUs of 29.4 minutes at 2 an hour are the cheapest.
    money = ("jobs.csv", "--budget", "100", "--price", "2/h")
    kept = plan(shell, *money)
    assert kept["cheapest"]["cost"] == pytest.approx(7.84, rel=0.02)
    assert kept["total"] < kept["cheapest"]["total"]
    assert kept["cost_upper"] <= 100
    assert "gpus the fastest for 100 at most" in done(shell, "ask", *money)
    best = reply(shell, "optimize", *money, "--over", f"gpus=8:{2 * kept['gpus']:g}", words=True)["best"][0]
    assert best["gpus"] == pytest.approx(kept["gpus"], rel=0.05)
    out = done(shell, "ask", "jobs.csv", "--full", "--deadline", "3min", "--at", "gpus=256")
    assert re.search(r"^A job takes [\d.]+ s ", out, re.MULTILINE)
    done(shell, "report", "jobs.csv", "--deadline", "3min", "-o", "page.html")
    assert "For a job within 180 s" in Path("page.html").read_text()
    assert "a deadline and a budget are those of the work in all" in refusal(
        shell, "ask", "runs.csv", "--deadline", "5d"
    )


@cases_in_text("words")
def test_a_price_in_words_needs_no_sign_of_money(words: str, shell: Shell) -> None:
    rows = ("gpus,tokens_per_s", *(f"{n},{1000 * n}" for n in (8, 16, 32, 64)))
    Path("rows.csv").write_text("\n".join(rows))
    by_option, by_words = (
        done(shell, "ask", "rows.csv", "--tokens", "1T", *question)
        for question in (("--at", "gpus=128", "--price", "2/h"), ("--at", words))
    )
    assert "training cost" in by_option
    assert by_words.partition("all:")[0] == by_option.partition("all:")[0]


def test_a_card_of_a_plan_that_nothing_keeps_is_of_the_count_that_comes_nearest(shell: Shell) -> None:
    job = ("ask", "two.csv", "--samples", "1.2B", "--price", "2/h")
    for limit, count in ((("--deadline", "1h"), 256), (("--budget", "1"), 8)):
        head, *rows = done(shell, *job, *limit).splitlines()
        assert head.endswith(f" {count} gpus, nodes={count // 8}")
        assert any(row.startswith("whole job") for row in rows)


#: Each with its price and how many images a device does a second.
OFFERS = (("a", 4.0, 400), ("b", 3.0, 1), ("c", 1.0, 300), ("d", 2.0, 390))


def test_a_plan_is_answered_of_the_best_series_and_the_others_stand_beside_the_cheapest_first(shell: Shell) -> None:
    """Offer c costs least, and the slow b keeps the deadline with no count that is tried."""
    rows = [(name, n, price, round(rate * n**0.97, 1)) for name, price, rate in OFFERS for n in (8, 16, 32)]
    text = csv_of("offer,gpus,usd_per_gpu_hour,images/s", rows)
    out = told(shell, text, "--samples", "100B", "--deadline", "100d", "--full")
    offers = re.findall(r"  offer=(.): (?:\d+ gpus, [\d.]+ \w+ and ([\d,]+)|no count is enough)", out)
    assert [name for name, _ in offers] == ["d", "a", "b"]
    assert int(offers[0][1].replace(",", "")) < int(offers[1][1].replace(",", ""))
    assert "offer=c" in told(shell, text, "--samples", "100B", "--deadline", "100d").splitlines()[1]
    Path("offers.csv").write_text(text)
    done(shell, "fit", "offers.csv", "-o", "offers.json")
    job = ("--samples", "100B", "--deadline", "100d")
    of_model, of_table = (reply(shell, "ask", name, *job)["plan"] for name in ("offers.json", "offers.csv"))
    for amount in ("gpus", "total", "cost"):
        assert of_model[amount] == pytest.approx(of_table[amount])
    done(shell, "report", "offers.csv", "-o", "offers.html", *job)
    assert f"Take {of_table['gpus']:g} gpus" in Path("offers.html").read_text()
    # Where no series keeps a budget it is the cheapest as well.
    assert "offer=c" in told(shell, text, "--samples", "100B", "--budget", "1").splitlines()[1]


def test_a_series_that_only_failed_is_not_the_one_that_is_answered(shell: Shell) -> None:
    rows = [("a", 1, 0.5), ("a", 2, 0.55), ("b", 1, "OOM"), ("b", 2, "OOM"), ("b", 4, "OOM"), ("b", 8, "OOM")]
    assert "of quant=a" in told(shell, csv_of("quant,gpus,step_s", rows))


def test_a_constant_data_set_is_no_work_of_a_step(shell: Shell) -> None:
    rows = [(8, 50000, 0.63), (16, 50000, 0.68), (32, 50000, 0.71), (64, 50000, 0.73)]
    without = [(n, seconds) for n, _, seconds in rows]
    beside, alone = asked(shell, csv_of("gpus,dataset_size,step_s", rows)), asked(shell, csv_of("gpus,step_s", without))
    assert beside["efficiency"] == pytest.approx(alone["efficiency"])


def test_the_cheapest_count_is_that_of_all_counts(shell: Shell) -> None:
    Path("runs.csv").write_text(csv_of("gpus,step_s", ((n, 0.2 + 0.01 * n**0.5) for n in (1, 2, 4, 8, 16, 32))))
    job = ("runs.csv", "--samples", "1B", "--price", "2/h", "--deadline", "5d", "--work", "32*gpus")
    kept = plan(shell, *job)
    best = reply(shell, "optimize", *job, "--over", "gpus=1:512", words=True)["best"][0]
    assert (best["gpus"], best["cost"]) == (kept["gpus"], pytest.approx(kept["cost"]))


def test_a_plan_takes_what_the_configuration_takes_that_it_leaves_open(shell: Shell) -> None:
    """The runs of many devices are of larger ways, and the counts of a plan all of the usual ones."""
    ways = ((n, t) for n in (16, 32, 64) for t in (1, 2, 4, 8))
    rows = [(n, t, n // t, 256, 70 / n * (1 + 0.1 * t) + 0.04 * n / t) for n, t in ways]
    Path("ways.csv").write_text(csv_of("gpus,tp,dp,global_batch,step_s", rows))
    for job in (
        ("--samples", "200k", "--deadline", "100min"),
        ("--at", "how many gpus for 200k samples in 100 minutes"),
    ):
        answer = reply(shell, "ask", "ways.csv", *job)
        assert answer["plan"]["total"] == pytest.approx(200e3 / answer["throughput"], rel=1e-9)


def test_a_plan_of_a_layout_takes_what_its_split_takes(shell: Shell) -> None:
    rows = (
        (n, n // t // p, t, p, 2048, 512, 2, 600 / n * (1 + 0.03 * t + 0.2 * (p - 1)))
        for n in (16, 32, 64) for t in (1, 2, 4) for p in (1, 2)
    )  # fmt: skip
    Path("runs.csv").write_text(csv_of("gpus,dp,tp,pp,seq_len,global_batch,micro_batch,step_s", rows))
    answer = reply(shell, "ask", "runs.csv", "--tokens", "300B", "--deadline", "40d", "--layout", words=True)
    of_plan = answer["plan"]["named"]
    assert of_plan["total"] == pytest.approx(300e9 / 2048 / answer["throughput"])
    # Each replica has whole passes of a batch.
    assert 512 % (2 * answer["at"]["dp"]) == 0
    assert 512 % (2 * reply(shell, "ask", "runs.csv", "--tokens", "300B", "--deadline", "40d")["at"]["dp"]) == 0
