"""Trains a run of orch with Hugging Face's Trainer, sharing the work by DeepSpeed or accelerate's FSDP2.

    RANK=0 LOCAL_RANK=0 WORLD_SIZE=1 MASTER_ADDR=... MASTER_PORT=... \
        python3 hf_driver.py --run run.json --attempt attempts/1 [ARGUMENTS OF THE TRAINER]

The model is transformers' GPT-2 or BLOOM. First weights, samples and the schedule are those of torch_driver.py, so
of orch's trainers; the loop, the optimizer and what shares the work are Hugging Face's.
"""
import dataclasses, json, os, sys, time

import torch

CPU = not torch.cuda.is_available()
DEEPSPEED = "--deepspeed" in sys.argv
if CPU and not DEEPSPEED:  # before the imports that look for a device; DeepSpeed looks for its own
    os.environ.setdefault("ACCELERATE_USE_CPU", "true")

import accelerate.state
import torch.distributed as dist
import transformers
from torch_driver import Events, Model, import_deepspeed, learning_rate, open_data, options_of, total_steps


@dataclasses.dataclass
class Ours:
    run: str = dataclasses.field(metadata={"help": "run.json of the run's folder"})
    attempt: str = dataclasses.field(metadata={"help": "the attempt's folder"})


def allow_cpu():
    """accelerate shares work between ranks with an accelerator only; PyTorch and DeepSpeed can on CPUs (Gloo)."""
    state, kinds = accelerate.state.PartialState, accelerate.state.DistributedType
    begin, prepare = state.__init__, state._prepare_backend

    def begin_as_accelerator(self, *words, **named):
        begin(self, *words, **named)
        if self.distributed_type == kinds.MULTI_CPU:
            self.distributed_type = kinds.MULTI_XPU

    def prepare_gloo(self, *words, **named):
        backend, kind = prepare(self, *words, **named)
        return (backend, kind) if backend else ("gloo", kinds.MULTI_CPU)

    if DEEPSPEED:
        state._prepare_backend = prepare_gloo
    else:
        state.__init__ = begin_as_accelerator


class Samples(torch.utils.data.Dataset):
    def __init__(self, run, folder, steps):
        self.seq, self.count = run["model"]["seq"], run["global_batch"] * steps
        self.data = open_data(run, folder, 0, self.count)

    def __len__(self):
        return self.count

    def __getitem__(self, sample):
        tokens = self.data.read([sample], self.seq)[0]
        targets = tokens[1:].clone()
        return {"input_ids": tokens[:-1], "labels": targets, "shift_labels": targets}


def config_of(run):
    model, t = run["model"], run["training"]
    words = {"vocab_size": (model["vocab"] + 127) // 128 * 128, "initializer_range": t["init_std"],
             "layer_norm_epsilon": model.get("norm_epsilon", 1e-5), "n_layer": model["layers"],
             "n_head": model["heads"], "use_cache": False, "bos_token_id": 0, "eos_token_id": 0}
    if model["family"] == "bloom":
        return transformers.BloomConfig(hidden_size=model["hidden"], hidden_dropout=t["dropout"],
                                        attention_dropout=t["attention_dropout"], **words)
    return transformers.GPT2Config(n_embd=model["hidden"], n_positions=model["seq"], resid_pdrop=t["dropout"],
                                   embd_pdrop=t["dropout"], attn_pdrop=t["attention_dropout"], **words)


GPT2 = {"word_embedding": "wte", "position_embedding": "wpe", "final_norm": "ln_f", "layers": "h", "norm1": "ln_1",
        "norm2": "ln_2", "qkv": "attn.c_attn", "out": "attn.c_proj", "up": "mlp.c_fc", "down": "mlp.c_proj"}
BLOOM = {"word_embedding": "word_embeddings", "embedding_norm": "word_embeddings_layernorm", "final_norm": "ln_f",
         "layers": "h", "norm1": "input_layernorm", "norm2": "post_attention_layernorm",
         "qkv": "self_attention.query_key_value", "out": "self_attention.dense", "up": "mlp.dense_h_to_4h",
         "down": "mlp.dense_4h_to_h"}


def first_weights(run):
    """The weights that orch's trainers begin with, by transformers' names and in its order."""
    model, t = run["model"], run["training"]
    drawn = Model(model, options_of(run)).to("cpu" if CPU else f"cuda:{os.environ.get('LOCAL_RANK', 0)}")
    drawn.draw(t["seed"], t["init_std"])
    gpt2 = model["family"] != "bloom"
    names, out = GPT2 if gpt2 else BLOOM, {}
    for name, value in drawn.state_dict().items():
        parts = name.split(".")
        if gpt2 and "qkv" in parts:  # of all heads the queries, then the keys, then the values
            value = value.view(model["heads"], 3, -1, *value.shape[1:]).transpose(0, 1).reshape(value.shape)
        if gpt2 and value.dim() > 1 and "layers" in parts:
            value = value.T
        out["transformer." + ".".join(names.get(part, part) for part in parts)] = value.contiguous().cpu()
    return out


def model_of(run, recompute):
    kind = transformers.BloomForCausalLM if run["model"]["family"] == "bloom" else transformers.GPT2LMHeadModel
    model = kind(config_of(run))
    missing, unknown = model.load_state_dict(first_weights(run), strict=False)
    if unknown or set(missing) - {"lm_head.weight"}:
        raise SystemExit(f"transformers {transformers.__version__} has other weights: {missing} {unknown}")
    model.tie_weights()
    return model


class Trainer(transformers.Trainer):
    """Reads samples in their order, and follows the run's schedule."""

    def __init__(self, run, steps, **named):
        self.run, self.steps = run, steps
        super().__init__(**named)

    def _get_train_sampler(self, *_):
        return torch.utils.data.SequentialSampler(self.train_dataset)

    def create_scheduler(self, num_training_steps, optimizer=None):
        t = self.run["training"]
        self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(
            optimizer or self.optimizer, lambda step: learning_rate(t, step + 1, self.steps) / t["learning_rate"])
        return self.lr_scheduler


class Report(transformers.TrainerCallback):
    """events.jsonl, which orch reads."""

    def __init__(self, run, steps, attempt):
        self.run, self.steps, self.attempt, self.rate = run, steps, attempt, None

    def on_train_begin(self, args, state, control, model=None, **_):
        self.events = Events(self.attempt)
        device = "cpu" if CPU else torch.cuda.get_device_name()
        self.events.tell("start", ranks=dist.get_world_size(), device=device, torch=torch.__version__,
                         parameters=self.run.get("parameters", 0), effective={})

    def on_step_begin(self, *_, **__):
        if not CPU:
            torch.cuda.synchronize()
        self.began = time.perf_counter()

    def on_pre_optimizer_step(self, *_, optimizer=None, **__):
        self.rate = optimizer.param_groups[0]["lr"] if optimizer else None

    def on_step_end(self, *_, **__):
        if not CPU:
            torch.cuda.synchronize()
        self.seconds = time.perf_counter() - self.began

    def on_log(self, args, state, control, logs=None, **_):
        if "loss" not in logs:
            return
        step, tokens = state.global_step, self.run["global_batch"] * self.run["model"]["seq"]
        more = {} if self.rate is None else {"learning_rate": self.rate}
        self.events.tell("step", step=step, loss=float(logs["loss"]), step_seconds=self.seconds, tokens=step * tokens,
                         tokens_per_second=tokens / self.seconds, gradient_norm=float(logs.get("grad_norm", 0)),
                         peak_memory_bytes=0 if CPU else torch.cuda.max_memory_allocated(), loss_scale=1.0,
                         skipped=False, communicated_bytes=0, **more)

    def on_save(self, args, state, control, **_):
        self.events.tell("checkpoint", step=state.global_step)


def last_checkpoint(folder):
    from transformers.trainer_utils import get_last_checkpoint
    return get_last_checkpoint(folder) if os.path.isdir(folder) else None


def main():
    parser = transformers.HfArgumentParser((Ours, transformers.TrainingArguments))
    words = sys.argv[1:] + (["--use_cpu", "true"] if CPU and not DEEPSPEED else [])
    words += ["--remove_unused_columns", "false", "--dataloader_drop_last", "true"]
    if CPU:
        allow_cpu()
    if DEEPSPEED:
        import_deepspeed("cpu" if CPU else "cuda")
    ours, arguments = parser.parse_args_into_dataclasses(words)
    with open(ours.run) as file:
        run = json.load(file)
    steps, attempt = total_steps(run), ours.attempt
    trainer = Trainer(run, steps, model=model_of(run, arguments.gradient_checkpointing), args=arguments,
                      train_dataset=Samples(run, os.path.dirname(os.path.abspath(ours.run)), steps),
                      data_collator=transformers.default_data_collator, callbacks=[Report(run, steps, attempt)])
    wanted = "DEEPSPEED" if DEEPSPEED else "FSDP"
    if trainer.accelerator.distributed_type != wanted:
        raise SystemExit(f"accelerate shares the work by {trainer.accelerator.distributed_type}, not by {wanted}")
    trainer.train(resume_from_checkpoint=last_checkpoint(arguments.output_dir))
    if dist.get_rank() == 0 and trainer.state.global_step >= steps:
        open(os.path.join(attempt, "finished"), "w").close()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
