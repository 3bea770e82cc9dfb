"""TensorFlow with a strategy of ring collectives over gRPC among the workers of a job."""

from __future__ import annotations

import json
import os

from work import job

MEETING, JOB, RANK = job()
WORKERS: int = JOB["workers"]
#: Operations of a graph that may wait for something at the same time.
_AT_ONCE = 2
os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")
if WORKERS > 1:
    # On one host the workers differ by their ports, on several by their addresses: both at once does for either.
    workers = [f"{address}:{JOB['port'] + i}" for i, address in enumerate(JOB["addresses"])]
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": RANK}})

import tensorflow as tf  # noqa: E402

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(_AT_ONCE)
RING = tf.distribute.experimental.CommunicationOptions(
    implementation=tf.distribute.experimental.CommunicationImplementation.RING
)
STRATEGY = (
    tf.distribute.MultiWorkerMirroredStrategy(communication_options=RING)
    if WORKERS > 1
    else tf.distribute.get_strategy()
)
