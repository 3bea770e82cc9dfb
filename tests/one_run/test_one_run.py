"""A run in words or in a row, its utilisation by the conventions in use, and what is refused or asked back."""

import pandas as pd
import pytest

from genperf.asking.one_run import STATED, TrainingRun, Utilisation, run_of_row, utilisation_of
from genperf.errors import GenperfError
from genperf.networks import network_named, networks
from genperf.panel.words import UNREAD, row_of_cells, row_of_words


def run_in(text: str) -> TrainingRun:
    return run_of_row(row_of_words(text.split()))


def used(text: str) -> Utilisation:
    return utilisation_of(run_in(text))


@pytest.mark.parametrize(
    ("words", "value"),
    [
        # 6 · 7e9 · 76800 / (8 · 989.4e12)
        ("8xh100 7B 76800tok/s", 0.4075),
        ("8 x h100 7B 9.6k tokens/s/gpu bf16", 0.4075),
        ("h100x8 params=7e9 9600 tokens per second per gpu", 0.4075),
        ("1x8xh100 7B 37.5 samples/s seq=2048", 0.4075),
        ("8xh100 7B 1.706667 s/it gbs=64 seq=2048", 0.4075),
        ("8xh100 7B 76800tok/s fp8", 0.2037),
        # 12.9 of 46.7 billion parameters: 6 · 12.9e9 · 41670 / (8 · 989.4e12)
        ("8xh100 mixtral-8x7b 41670tok/s", 0.4075),
        # 4 · 7e9 · 115200 / (8 · 989.4e12)
        ("8xh100 7B lora 115200tok/s", 0.4075),
        # 6 · 4.09e9 · 2900 / (8 · 125e12)
        ("8xv100 resnet50 2900img/s", 0.0712),
        ("256xtpu-v5p 32B 328TFLOP/s", 0.7146),
        ("2 nodes of 8xh100 7B 153600tok/s", 0.4075),
        ("2x8xh100 7B 76800tok/s/node", 0.4075),
        ("8 h100s 7B 37.5 samples/s seq 2048", 0.4075),
        ("8xl40s 7B 30%MFU", 0.3),
        ("16xh100 7B 76800tok/s/node", 0.4075),
        # More than a node has are all of them.
        ("16xh100 7B 153600tok/s 2 nodes", 0.4075),
        # A rate in tokens needs no batch; 6 · 1e9 · 11833 / 71e12
        ("8xh100 7B 76800tok/s batch=64", 0.4075),
        ("1x3090 1B 11833tok/s", 1.0),
        ("1x3090 100M 118333tok/s", 1.0),
        ("8 H100 80GB, 7B, 76.8k tokens/sec, bf16", 0.4075),
        ("2x8 h100 7B 153600 tok/s", 0.4075),
        ("4x4090 llama2-7b MFU: 38%", 0.38),
        # As they are written elsewhere; an H100 PCIe has another peak: 6 · 7e9 · 57600 / (8 · 756e12)
        ("8 x H100 SXM5 80GB 7B 76.8k tok/s", 0.4075),
        ("8 NVIDIA H100 80GB HBM3 7b 76.8k tok/s at bf16", 0.4075),
        ("8 x H100 PCIe 7B 57600 tok/s", 0.4),
        ("h100:8 7b 76.8k tok/s", 0.4075),
        ("H100 x 8 7b 9600 tok/s/gpu", 0.4075),
        ("4 nodes x 8 h100 7b 307.2k tok/s", 0.4075),
        ("h100 7b 9600 tok/s", 0.4075),
        ("rtx 4090 gpt2 124M 90.5 TFLOPs per GPU", 0.5478),
        ("8xh100 7B 0.45 mfu", 0.45),
        ("8xh100 7B 1.706667 s/it with global batch of 64, seq 2048", 0.4075),
        # 64 samples a step: of one pass each, of four passes of two, and of eight passes over two ways to split.
        ("8xh100 7B 1.706667 s sequence length 2048 gbs 64", 0.4075),
        ("8xh100 7B step_time 1.706667 mbs=2 accum=4 seq=2048", 0.4075),
        ("8xh100 7B 1.706667 s/it mbs=2 accum=8 tp=2 seq=2048", 0.4075),
        # An m before a letter is no million, an M is.
        ("8xh100 7B 1706.667ms/step gbs=64 seq=2048", 0.4075),
        ("8xh100 7B 4.608Mtok/min", 0.4075),
        ("8xh100 7B 1.706667 s/it batch size per gpu 8 context length 2048", 0.4075),
        ("8xh100 7B 1.706667 s/it global batch size of 64 seq 2048", 0.4075),
        ("8xh100 7B throughput 76800 tokens/s", 0.4075),
        ("8xh100 7B tokens/s: 76800", 0.4075),
        # The devices may follow the network, and their name may hold a blank or be that of a slice.
        ("7B on 8 H100 SXM: ~76.8k tok/s", 0.4075),
        ("8xh100 7B 9600 tok/s/H100", 0.4075),
        ("8 H100 GPUs, 7 billion params, 76,800 tok/s", 0.4075),
        # 6 · 3.2e9 · 85632 / (16 · 275e12): the number of v4 is of cores.
        ("TPU v4-32 3.2B 85,632 tokens/sec", 0.3737),
        ("16 TPU v4 3.2B 85,632 tokens/sec", 0.3737),
        ("v6e-8 7B 30% MFU", 0.3),
        ("8 x Gaudi 2 7B 260 TFLOP/s/device", 0.6019),
        ("6000 Ascend 910B 39B 112.8 TFLOP/s", 0.3),
        # A line of a log: what is no rate is passed over.
        ("4xh100 561M step 1/9 | loss: 10.37 | dt: 2108.35ms | tok/sec: 497,344 | lrm: 1.00", 0.423),
        ("8xh100 8B lm loss: 1.5 | throughput per GPU (TFLOP/s/GPU): 403.2 | global batch size:  1024", 0.4075),
        ("128 a100 175B 159 TFLOPS per A100 GPU (51% of peak 312 TFLOPS)", 0.5096),
        # 6 · 6.74e9 · 2e12 / (184320 · 3600 · 312e12), and 6 · 3e9 · 11e12 / (384 · 24 · 86400 · 989.4e12)
        ("A100 llama2-7b 184,320 GPU hours for 2T tokens", 0.3907),
        ("384 H100s 3B 11 trillion tokens in 24 days", 0.2513),
        ("512 A100 80GB GPUs, 15.5B, 1T tokens, 24 days", 0.2808),
        ("8xh100 7B 37.5 samples/s context 2k", 0.4075),
        ("meta-llama/Llama-3.1-8B on 8xh100 9600 tok/s/GPU", 0.4675),
        ("910B3 x8 7B 3900 tokens/s/npu", 0.4356),
        # A slice before a colon, a precision in brackets, tera, minutes; a log's other numbers and a suffix of a name.
        ("On v5p-16: 7B, 30% MFU", 0.3),
        ("8xh100 (fp8): 7B 791.5 TFLOP/s/GPU", 0.4),
        ("1 V100 1.2B 39 TeraFLOPs", 0.312),
        ("8xh100 7B 4.608B tokens in 1000 minutes", 0.4075),
        (
            "8xh100 gpt2 124M step 61/74 | loss 3.2 (+nanz)| norm 1.48 | lr 3.00e-04 | -100.0% bf16 MFU | 91886 tok/s",
            0.0087,
        ),
        ("4xA100 PCIe resnet50 Speed: 11328.82 samples/sec accuracy=0.001103", 0.2227),
        ("8xa100 bert-base-uncased 7000 samples/s seq 128", 0.242),
        ("3 servers, 8x h100 7B 230400tok/s", 0.4075),
        ("DGX-H100 7B 76.8k tok/s", 0.4075),
        ("8xv100 resnet50 2900img/s mixed precision", 0.0712),
        ("2 DGX H100 7B 153.6k tok/s", 0.4075),
        # 6 · 7e9 · 1e12 / (14 · 86400 · 128 · 312e12)
        ("128 A100 7B 1T tokens in 2 weeks", 0.8695),
        ("8xh100 7B cutoff_len=2048 {'train_runtime': 106.5, 'train_samples_per_second': 37.5, 'epoch': 1.0}", 0.4075),
        ("8xh100 7B tokens_per_second_per_gpu:9600 loss:1.2 lr:2e-05", 0.4075),
        # In a sentence: strategies, questions and prose are no part of a name, nor a `single` node a precision.
        ("Is 40.75% MFU normal for 7B on 8 H100?", 0.4075),
        (
            "Training with FSDP on a single node of 8x H100 (80GB), our 7B-parameter LLM gets 9,600 tokens/sec/GPU.",
            0.4075,
        ),
        ("a throughput of 9,600 tokens per second per H100-80GB GPU for 7B", 0.4075),
        ("8 GPUs H100 7B MFU 40-41%, GPUs at 100% load", 0.4),
        ("7B reached 80% accuracy, at a utilization of about 40% (we use 64 GPUs); trained on H100s", 0.4),
        ("8 A100, DDP, ResNet-50 batch 256 per GPU step time 0.35 s fp16", 0.0575),
        ("8 V100 7B 400 TFLOPs or 40% MFU", 0.4),
        ("30 billion parameters with 7B activated, MoE, 8xh100 76800 tok/s", 0.4075),
        ("my-net 30B A7B 8xh100 76800 tok/s", 0.4075),
        ("throughput for the 7B model on the H100s is 9600 toks / sec", 0.4075),
        ("15.5B parameters, pretraining tokens: 1 trillion, 512 Tesla A100, training time: 24 days", 0.2808),
        # Clouds: an instance is a node of devices, of which there may be several.
        ("H100 80GB x 8 7B MFU~41%", 0.41),
        ("p5.48xlarge 7B 9600 tok/s/gpu", 0.4075),
        ("2 nodes p5.48xlarge, 7B, 153.6k tok/s", 0.4075),
        ("7B on a3-highgpu-8g x 4, 307.2k tok/s", 0.4075),
        # 6 · 7e9 · 1e12 / (126829 · 3600 · 312e12): hours of a device are no devices.
        ("7B, 1 trillion high-quality tokens, 126,829 A100-hours", 0.2948),
        ("64xh100 7B iteration: 10 / 100 | consumed_tokens: 2.1M | tokens_per_sec_per_gpu: 9.6K", 0.4075),
    ],
)
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
    # An A100 is no H100.
    assert "no convention" in used("8xa100 7B bf16 140TFLOP/s 14.1%").notes[-1]
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


@pytest.mark.parametrize(
    ("header", "cells", "value"),
    [
        ("gpus,gpu,model,tokens,days", "512,A100-80GB,15.5B,1T,24", 0.2808),
        ("model,gpu,tokens,gpu_hours", "llama2-7b,A100,2T,184.32k", 0.3907),
        ("Architecture,GPUs,Training time,Training data", "3B parameters,384 H100-80G,24 days,11T tokens", 0.2513),
        ("hardware,model,Throughput", "8x H100,7B,76.8k tokens/sec", 0.4075),
        ("gpu,model,MFU (%)", "H100,7B,40.75", 0.4075),
        ("GPU,count,model,tok/s", "H100,8,7B,76800", 0.4075),
        ("gpu,params,teraflops,peak teraflops", "V100,1.2B,39,125", 0.312),
    ],
)
def test_cells_that_are_words_are_read_as_these(header: str, cells: str, value: float) -> None:
    row = row_of_cells(dict(zip(header.split(","), cells.split(","), strict=True)))
    assert utilisation_of(run_of_row(row)).mfu == pytest.approx(value, abs=2e-4)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("8xh100 7B 76800tok/s/gpu", "1. the rate is of all devices, and not of each (then 41 %)"),
        # Each of these is 40.75 % with one figure mended.
        (
            "8xh100 7B 1.706667 ms/it gbs=64 seq=2048",
            "1. the time is in seconds, and not in milliseconds (then 41 %); 2.",
        ),
        (
            "8xh100 7B 1.706667 s/it batch_per_gpu=64 seq=2048",
            "1. the batch is of all devices, and not of each (then 41 %)",
        ),
        ("8xh100 7B 76800 samples/s seq=2048", "1. the rate is of tokens, and not of sequences (then 41 %)"),
        ("8xh100 7B 614400tok/s", "1. more devices ran than are counted; 2. a token uses a part of the parameters"),
        ("8xh100 llama3-8b 250k tok/s", "1. more devices ran than are counted; 2. only adapters are trained: lora; 3."),
        (
            "8xh100 resnet50 120000img/s/gpu",
            "1. the rate is of all devices, and not of each (then 37 %); 2. another precision or device",
        ),
        ("1xh100 gpt2-124m 104%", "1. it is of the peak of an A100 (then 33 %)"),
        # 300 % is no 3 %.
        ("8xh100 7B 300%", "an MFU cannot be 300 % of the peak of 8 x H100"),
        ("8xh100 7B 1,000%", "an MFU cannot be 10 times the peak of 8 x H100"),
        # Steps of each device are no rate of the network, and what is lacking is asked for.
        ("8xh100 7B 0.6 steps/s/gpu gbs=64 seq=2048", "is trained on tokens, and the rate is of steps"),
        ("8xh100 resnet50 0.6 steps/s/gpu gbs=64 seq=2048", "is trained on images, and the rate is of steps"),
        ("8xh100 7B 1.2s/step", "add seq=2048 and gbs=256, or give tok/s"),
        ("8xh100 7B 1.2s/step gbs=64", "add seq=2048, or give tok/s"),
        ("8xh100 7B 12 samples/s", "add seq=2048, or give tok/s"),
        ("8xh100 7B speed=12", "add seq=2048, or give tok/s"),
        ("8xh100 7B 76 800 tok/s", "'76' could be tokens or samples a second, of all devices or of each"),
    ],
)
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


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("How long to train 13B on 2T tokens with 256 A100 80GB?", "13B"),
        ("8 A100, DDP, ResNet-50, 2900 img/s", "ResNet-50"),
        ("the throughput of Llama 3 70B with ZeRO-3 and TP8 on 64 H100 was low: 20 TFLOPS", "Llama 3 70B"),
        ("8 A100 mistral nemo 12B 40%", "mistral nemo 12B"),
        ("a 10B parameter model at 40 TFLOPS on a V100, and another one had 1.4B parameters", "10 billion parameters"),
        ("we compare with others, and our own RWKV 14B got an MFU of 20% on 64 A100s", "RWKV 14B"),
    ],
)
def test_a_sentence_names_its_network(words: str, name: str) -> None:
    assert run_in(words).network.name == name


@pytest.mark.parametrize(
    ("words", "unread"),
    [
        ("8xh100 7B 76800tok/s for $50,000", "$50,000"),
        ("8xh100 7B 76800tok/s, 93% scaling efficiency over 12 stages", "93% scaling; 12 stages"),
        ("8xh100 7B 76800tok/s in 2019 for 24 hours", "2019; 24 h"),
        ("8xh100 7B 159 TFLOPS of 990 TFLOPS", "990 TFLOPS"),
        ("8xh100 7B 76800tok/s loss 2.1 accuracy 75%", ""),
    ],
)
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
