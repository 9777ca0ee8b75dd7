"""Trains a run of orch with torchtitan 0.2, on a Llama of any size and on orch's samples.

    RANK=0 LOCAL_RANK=0 WORLD_SIZE=1 MASTER_ADDR=... MASTER_PORT=... \
        python3 torchtitan_driver.py --run run.json --attempt attempts/1 [ARGUMENTS OF TORCHTITAN]

torchtitan's registry gets the model `orch`: its Llama 3 in the run's size, with a loader that reads the samples of
orch's trainers in their order, and their schedule. No tokenizer and no dataset is downloaded.
"""
import argparse, dataclasses, importlib.machinery, importlib.util, json, os, sys, types

import torch


def missing_module(name, *members):
    """torchtitan imports it for what is not used here: datasets by name, TensorBoard."""
    module = types.ModuleType(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    for member in members:
        setattr(module, member, None)
    sys.modules[name] = module


def allow_cpu():
    """torchtitan has no name for a CPU and asks its device for memory."""
    torch._utils._get_available_device_type = lambda: "cpu"
    nothing = lambda *_: None
    for name, value in {"set_device": nothing, "get_device_name": lambda *_: "cpu", "current_device": lambda: 0,
                        "reset_peak_memory_stats": nothing, "empty_cache": nothing, "memory_stats": lambda *_: {},
                        "get_device_properties": lambda *_: types.SimpleNamespace(total_memory=1 << 30)}.items():
        setattr(torch.cpu, name, value)
    torch._utils._get_device_module = lambda _: torch.cpu
    os.environ["LOCAL_RANK"] = "0"  # a CPU has no second device
    from torch.distributed.fsdp import FSDPModule
    divide = FSDPModule.set_gradient_divide_factor

    def divide_before(self, factor):  # Gloo cannot multiply while it sums
        divide(self, factor)
        self.set_force_sum_reduction_for_comms(True)

    FSDPModule.set_gradient_divide_factor = divide_before


def own_arguments():
    """Taken off the command line before torchtitan is imported, which keeps what it finds there."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False, add_help=False)
    parser.add_argument("--run", required=True, help="run.json of the run's folder")
    parser.add_argument("--attempt", required=True, help="the attempt's folder")
    ours, sys.argv[1:] = parser.parse_known_args()
    return ours


OURS = own_arguments()
if importlib.util.find_spec("datasets") is None:
    missing_module("datasets", "Dataset", "load_dataset")
    missing_module("datasets.distributed", "split_dataset_by_node")
if importlib.util.find_spec("tensorboard") is None:
    missing_module("torch.utils.tensorboard", "SummaryWriter")
if not torch.cuda.is_available():
    allow_cpu()

import torchtitan.train
from torch_driver import learning_rate, open_data, total_steps
from torchtitan.components.dataloader import BaseDataLoader
from torchtitan.components.lr_scheduler import LRSchedulersContainer
from torchtitan.models.llama3 import TransformerModelArgs, get_train_spec
from torchtitan.models.llama3.model.args import RoPEScalingArgs
from torchtitan.protocols.train_spec import register_train_spec


class Loader(BaseDataLoader):
    """Batches of one replica, each of one or, for a pipeline, several micro-batches."""

    def __init__(self, run, folder, ranks, rank, batch):
        self.run, self.ranks, self.rank, self.parts, self.next = run, ranks, rank, batch // run["micro_batch"], 0
        self.data = open_data(run, folder, 0, run["global_batch"] * total_steps(run))

    def __iter__(self):
        micro, seq = self.run["micro_batch"], self.run["model"]["seq"]
        while True:
            begins = [((self.next + i) * self.ranks + self.rank) * micro for i in range(self.parts)]
            self.next += self.parts
            tokens = torch.cat([self.data.read(range(begin, begin + micro), seq) for begin in begins])
            yield {"input": tokens[:, :-1]}, tokens[:, 1:]

    def state_dict(self):
        return {"next": self.next}

    def load_state_dict(self, state):
        self.next = state.get("next", 0)


def register(run, folder):
    t = run["training"]
    with open(os.path.join(folder, "torchtitan_model.json")) as file:
        size = json.load(file)
    size["rope_scaling_args"] = RoPEScalingArgs(**size["rope_scaling_args"])

    def loader(dp_world_size, dp_rank, tokenizer, job_config, **_):
        return Loader(run, folder, dp_world_size, dp_rank, job_config.training.local_batch_size)

    def schedule(optimizers, config, steps):
        return LRSchedulersContainer(optimizers, lambda step: learning_rate(t, step + 1, steps) / t["learning_rate"])

    register_train_spec("orch", dataclasses.replace(
        get_train_spec(), model_args={"orch": TransformerModelArgs(**size)}, build_dataloader_fn=loader,
        build_tokenizer_fn=None, build_lr_schedulers_fn=schedule, state_dict_adapter=None))


def main():
    with open(OURS.run) as file:
        run = json.load(file)
    register(run, os.path.dirname(os.path.abspath(OURS.run)))
    torchtitan.train.main(torchtitan.train.Trainer)
    if os.environ["RANK"] == "0":
        open(os.path.join(OURS.attempt, "finished"), "w").close()


if __name__ == "__main__":
    main()
