"""Trains a partitioned transformer on processes of this machine, and compares its gradients with an undivided one's.

partitioned_gradients.py REPLICAS STAGES SHARDS MICRO RANK PORT        prints the largest difference of this device
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "experiments" / "measure"))

import torch
import torch.distributed as dist
from pace import Pace
from partition_design import TINY, Layout
from partitioned import Device, Groups, Training
from torch.nn import functional

PROCESSOR = torch.device("cpu")
SHAPE = TINY[0]


def undivided(layout: Layout, stages: dict[tuple[int, int], dict[str, torch.Tensor]]) -> Training:
    """Return an undivided training with the weights of the stages and shards."""
    whole = Training(SHAPE, Device(Layout(1, 1, 1, SHAPE.batch), 0, Groups(), Pace(0.0), PROCESSOR))
    weights = whole.stage.state_dict()
    for name in weights:
        stage, inner = stage_of(name, layout)
        weights[name] = joined(inner, [stages[stage, shard][inner] for shard in range(layout.shards)])
    whole.stage.load_state_dict(weights)
    return whole


def stage_of(name: str, layout: Layout) -> tuple[int, str]:
    """Return the stage that has a weight of the undivided network, and the weight's name there."""
    if name.startswith(("tokens", "positions")):
        return 0, name
    if not name.startswith("blocks."):
        return layout.stages - 1, name
    stage, number = divmod(int(name.split(".")[1]), SHAPE.layers // layout.stages)
    return stage, ".".join(["blocks", str(number), *name.split(".")[2:]])


def joined(name: str, parts: list[torch.Tensor]) -> torch.Tensor:
    """Return a whole matrix or vector of its shards."""
    if "inward" in name:
        # Query, key and value are cut one by one.
        return torch.cat([torch.cat([part.chunk(3)[i] for part in parts]) for i in range(3)])
    if "wider" in name:
        return torch.cat(parts)
    if "outward" in name or "narrower" in name:
        return torch.cat(parts, dim=1)
    return parts[0]


def main() -> None:
    *ways, rank, port = map(int, sys.argv[1:])
    layout = Layout(*ways)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=layout.devices)
    device = Device(layout, rank, Groups(), Pace(0.0), PROCESSOR)
    training = Training(SHAPE, device)
    # Other weights in every shard, where the shards are to have other weights.
    torch.manual_seed(rank)
    for name, weight in training.stage.named_parameters():
        if any(word in name for word in ("inward", "outward", "wider", "narrower")):
            torch.nn.init.normal_(weight, std=0.1)
    everywhere: list[object] = [None] * layout.devices
    state = (device.stage, device.shard, device.replica, training.stage.state_dict(), torch.cat(training.inputs))
    dist.all_gather_object(everywhere, (*state, torch.cat(training.wanted)))
    for stage, shard, replica, weights, _, _ in everywhere:
        if replica == 0 and (stage, shard) == (device.stage, device.shard):
            training.stage.load_state_dict(weights)
    first = {(stage, shard): weights for stage, shard, replica, weights, _, _ in everywhere if replica == 0}
    whole = undivided(layout, first)
    loss = torch.zeros(())
    for replica in range(layout.replicas):
        inputs = next(x for s, t, r, _, x, _ in everywhere if (s, t, r) == (0, 0, replica))
        wanted = next(y for s, t, r, _, _, y in everywhere if (s, t, r) == (layout.stages - 1, 0, replica))
        loss = loss + functional.cross_entropy(whole.stage(inputs).flatten(0, 1), wanted.flatten()) / layout.replicas
    loss.backward()
    training.optimizer.step = lambda: None
    training.step()
    mine = {name: p.grad for name, p in training.stage.named_parameters()}
    gathered: list[object] = [None] * layout.devices
    dist.all_gather_object(gathered, (device.stage, device.shard, device.replica, mine))
    gradients = {(stage, shard): g for stage, shard, replica, g in gathered if replica == device.replica}
    largest = 0.0
    for name, p in whole.stage.named_parameters():
        stage, inner = stage_of(name, layout)
        divided = joined(inner, [gradients[stage, shard][inner] for shard in range(layout.shards)])
        largest = max(largest, float((divided - p.grad).abs().max() / p.grad.abs().max()))
    print(largest)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
