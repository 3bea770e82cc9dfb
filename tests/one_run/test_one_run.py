"""A run in words or in a row, its utilisation by the conventions in use, and what is refused or asked back."""

import pandas as pd
import pytest
from helpers import cases_in_text

from genperf.asking.one_run import STATED, TrainingRun, Utilisation, run_of_row, utilisation_of
from genperf.errors import GenperfError
from genperf.networks import network_named, networks
from genperf.panel.words import UNREAD, row_of_cells, row_of_words


def run_in(text: str) -> TrainingRun:
    return run_of_row(row_of_words(text.split()))


def used(text: str) -> Utilisation:
    return utilisation_of(run_in(text))


@cases_in_text("words, value")
def test_a_run_in_words_has_its_utilisation(words: str, value: float) -> None:
    assert used(words).mfu == pytest.approx(value, abs=2e-4)


def test_what_is_stated_shows_its_convention() -> None:
    # 6 · 8.03e9 = 48.18, the input embedding 6 · 128256 · 4096 = 3.15, attention 12 · 32 · 4096 · 8192 = 12.88 GFLOP.
    peak = 8 * 989.4e12 / 50_000 / 1e9
    for operations, name in [
        (48.18, "6·P"),
        (48.18 - 3.15 + 12.88, "6·P + attention"),
        (48.18 + 12.88, "6·P + attention, input embedding counted"),
        (48.18 - 3.15 + 6.44, "6·P + causal attention"),
        # 72 · 32 · 4096², whatever the layers hold, with attention and output.
        (38.65 + 12.88 + 3.15, "72·layers·hidden² + attention and output"),
    ]:
        stated = used(f"8xh100 llama3-8b 50000tok/s seq=8192 bf16 {100 * operations / peak:.2f}%")
        assert (stated.mfu_convention, stated.mfu) == (name, pytest.approx(operations / peak, rel=0.005))
    assert used("8xh100 7B lora 50000tok/s").mfu_convention == "4·P: adapters only"
    of_layers = used("48xh100 7B 6.6s/step gbs=384 seq=8k layers=32 hidden=4096 51.8%").mfu_convention
    assert of_layers == "72·layers·hidden² + attention"
    # Where attention is not known it may be the difference.
    assert used("16xtpu-v4 3.2B 85632tok/s 41%").notes == (
        "the stated 41 % is 37 % by 6·P; attention may be the difference: add seq=, layers=, hidden=",
    )


def test_a_share_of_another_peak_is_named() -> None:
    (remark,) = used("8xh100 7B 76800tok/s bf16 20.4%").notes
    assert "sparse peak (1,980 TFLOP/s)" in remark
    assert "sparse peak" in used("16xh200 qwen2.5-32b bf16 420TFLOP/s 21.2%").notes[-1]
    # 20.4 % of the fp8 peak.
    assert "is of the 16-bit peak (989 TFLOP/s)" in used("8xh100 7B 76800tok/s fp8 40.75%").notes[-1]
    # Of an H100 on PCIe some divide by the peak of the other one, dense or sparse; 300 / 989.4 and 600 / 1978.9.
    assert "fits the peak of H100 (989 TFLOP/s)" in used("8xh100-pcie 7B bf16 300TFLOP/s 30.3%").notes[-1]
    assert "fits the peak of H100 (1,980 TFLOP/s)" in used("8xh100-pcie 7B fp8 600TFLOP/s 30.3%").notes[-1]
    assert "fits the sparse peak of H100 (1,980 TFLOP/s)" in used("8xh100-pcie 7B bf16 300TFLOP/s 15.2%").notes[-1]
    # Rounding leaves open which: three quarters are 38.7 %, of the other peak it is 39.4 %; and 60.6 % beside 59.5 %.
    assert "fits the peak of H100" in used("1xh100-pcie 7B bf16 390TFLOP/s 39%").notes[-1]
    assert "is HFU" in used("8xh100 7B bf16 450TFLOP/s 60%").notes[-1]
    # Programs divide by the peak of an H100 (nanochat) or of an A100 (nanoGPT), whatever the device: 140 / 989.4.
    assert "fits the peak of H100 (989 TFLOP/s)" in used("8xa100 7B bf16 140TFLOP/s 14.1%").notes[-1]
    # A V100 has no products with sparse weights.
    assert "no convention" in used("8xv100 7B 9600tok/s fp16 20.4%").notes[0]


def test_two_mistakes_at_once_are_named() -> None:
    # 7B at 76,800 tokens/s of 8 H100 is 40.75 %; of each device it was taken for all, and of the sparse peak.
    (remark,) = used("8xh100 7B 9600tok/s bf16 20.4%").notes
    assert "is of the sparse peak (1,980 TFLOP/s)" in remark
    assert "and it fits where the rate is of each device, and not of all" in remark
    (remark,) = used("8xh100 7B 9600tok/s bf16 40.8%").notes
    assert remark == "the stated 41 % fits where the rate is of each device, and not of all"


def test_recomputation_is_hfu() -> None:
    run = used("8xa100 13B 15000tok/s recompute")
    assert run.hfu == pytest.approx(run.mfu * 4 / 3)


def test_a_row_is_read_by_its_headers() -> None:
    row = {"GPU": "NVIDIA A100-SXM4-80GB", "gpus": 16, "model": "Llama 2 7B", "dtype": "bf16", "tokens/s/GPU": "3,700"}
    run = run_of_row({**row, "seq_length": 4096, "note": ""})
    assert (run.devices, run.rate, run.sequence, run.precision) == (16.0, 59200.0, 4096.0, "16-bit")
    dies = run_of_row({"device": "MI250X", "devices": 16, "devices_per_node": 8, "model": "7B", "tokens_per_s": 1})
    assert dies.dense_peak == pytest.approx(191.5e12)


@cases_in_text("header, cells, value")
def test_cells_that_are_words_are_read_as_these(header: str, cells: str, value: float) -> None:
    row = row_of_cells(dict(zip(header.split(","), cells.split(","), strict=True)))
    assert utilisation_of(run_of_row(row)).mfu == pytest.approx(value, abs=2e-4)


@cases_in_text("words, message")
def test_figures_that_contradict_each_other_or_are_open_are_refused(words: str, message: str) -> None:
    with pytest.raises(GenperfError) as error:
        used(words)
    assert message in str(error.value)
    assert "unit a second" not in str(error.value)


def test_cells_that_are_no_numbers_are_no_fault() -> None:
    row = {"gpu": "H100", "gpus": 8, "model": "7B", "tokens_per_s": 76800}
    for cell in (pd.Timestamp("2026-01-01"), [1, 2], b"x", True):
        assert run_of_row({**row, "note": cell}) == run_of_row(row)


def test_a_percentage_is_a_share_whatever_its_size() -> None:
    assert [run_of_row({"gpu": "H100", "mfu": cell}).claims[STATED] for cell in ("0.4%", "45 %", 45, 0.45)] == [
        *(pytest.approx(share) for share in (0.004, 0.45, 0.45, 0.45))
    ]


@pytest.mark.parametrize(
    "words", ["0xh100 7B 9600tok/s", "h100", "h100.csv 7B", "runs 7B", "foo:8 7B", "runs.csv 64 h100s"]
)
def test_what_names_no_machine_is_none(words: str) -> None:
    assert not row_of_words(words.split())


def test_a_network_has_no_part_of_the_device_in_its_name() -> None:
    for device in ("8 x H100 SXM", "8 H100 PCIe", "8xh100 80GB HBM3"):
        assert run_in(f"{device} llama3-8b 9600 tok/s").network == network_named("llama3-8b")


@pytest.mark.parametrize(
    "word", ["finetune", "fine-tuning", "full-finetune", "full fine tuning", "fully-finetuned", "pretraining", "SFT"]
)
def test_the_kind_of_training_is_no_part_of_the_name(word: str) -> None:
    run = run_in(f"8xa100 llama2-7b {word} 13100tok/s")
    assert run.network == network_named("llama2-7b")


@cases_in_text("words, name")
def test_a_sentence_names_its_network(words: str, name: str) -> None:
    assert run_in(words).network.name == name


@cases_in_text("words, unread")
def test_a_number_that_nothing_reads_is_told(words: str, unread: str) -> None:
    assert row_of_words([words]).get(UNREAD, "") == unread


def test_a_name_means_a_published_network_or_a_size() -> None:
    names = ("Llama 3.1 8B", "LLaMA V2 7B", "7B", "mixtral-8x7b", "30B-A3B", "Mixtral-8x7B-Instruct-v0.1")
    assert [network_named(name).active for name in names] == [8.03e9, 6.74e9, 7e9, 12.9e9, 3e9, 12.9e9]
    assert network_named("my-net 561M zero3").name == "my-net 561M"
    # Another size, or no size beside other words, is another network.
    for name in ("mistral nemo 12B", "deepseek-r1-distill-llama-8b"):
        assert not network_named(name).published
    for name in ("wide-resnet-50-2", "bloom-7b1", "mixtral-8x3b"):
        with pytest.raises(GenperfError):
            network_named(name)


def test_a_dense_network_is_no_mixture_by_rounding() -> None:
    for network in networks().values():
        row = {"gpu": "A100", "model": network.name, "params": network.parameters, "mfu": "20 %"}
        assert run_of_row(row).network.is_mixture == network.is_mixture, network.name
    assert network_named("ResNet50").sample == "images"


def test_a_time_of_no_step_is_passed_over() -> None:
    row = {"gpu": "H100", "gpus": 8, "model": "7B", "latency_us": 5, "batch_per_gpu": 8, "seq_length": 2048}
    assert run_of_row({**row, "samples_per_s": 37.5}).rate == 76800.0
