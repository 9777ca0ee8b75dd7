"""Trains a run of orch with megatron.core alone: its model, tensor and pipeline parallelism and optimizer.

    RANK=0 LOCAL_RANK=0 WORLD_SIZE=1 MASTER_ADDR=... MASTER_PORT=... \
        python3 megatron_core_driver.py --run run.json --attempt attempts/1

The package has no training loop: this is the smallest one around it. First weights, samples and rules are those of
torch_driver.py, so of orch's trainers. It prints a line per step as they do, and leaves events.jsonl and `finished`
in the attempt's folder.
"""
import argparse, contextlib, functools, json, math, os, time

import torch
import torch.distributed as dist
from torch_driver import Events, learning_rate, line, open_data, options_of, total_steps
from torch_driver import Model as Drawn

CPU = not torch.cuda.is_available()


class WithoutCuda(torch.overrides.TorchFunctionMode):
    """Tensors that megatron.core asks for on "cuda" lie on the CPU."""

    def __torch_function__(self, function, kinds, words=(), named=None):
        named = dict(named or {})
        if "cuda" in str(named.get("device", "")):
            named["device"] = "cpu"
        return function(*words, **named)


def allow_cpu():
    """megatron.core is written for GPUs; without one its calls of them do nothing."""
    nothing = lambda *_, **__: None
    for name, value in {"current_device": lambda: torch.device("cpu"), "synchronize": nothing, "empty_cache": nothing,
                        "Stream": lambda *_, **__: None}.items():
        setattr(torch.cuda, name, value)
    torch.Tensor.cuda = lambda self, *_, **__: self
    kind = torch.Tensor.type

    def cuda_kind(self, *words, **named):
        answer = kind(self, *words, **named)
        return "torch.cuda." + answer.split(".")[-1] if isinstance(answer, str) else answer

    torch.Tensor.type = cuda_kind
    WithoutCuda().__enter__()
    from megatron.core.tensor_parallel import random
    random.CudaRNGStatesTracker.fork = lambda *_, **__: contextlib.nullcontext()
    random.model_parallel_cuda_manual_seed = random._set_cuda_rng_state = nothing
    random._get_cuda_rng_state = lambda *_, **__: torch.empty(0)


def begin():
    if CPU:
        allow_cpu()
    else:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    dist.init_process_group("gloo" if CPU else "nccl")


def config_of(run, size):
    from megatron.core.transformer import TransformerConfig
    t, settings = run["training"], run["settings"]
    half = settings["dtype"] == "bf16"
    activation = torch.nn.functional.silu if size["swiglu"] else functools.partial(
        torch.nn.functional.gelu, approximate="tanh")
    recompute = {"full": {"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1},
                 "selective": {"recompute_granularity": "selective"}}.get(settings["recompute"], {})
    return TransformerConfig(
        num_layers=size["layers"], hidden_size=size["hidden"], num_attention_heads=size["heads"],
        num_query_groups=size["kv_heads"], ffn_hidden_size=size["ffn_hidden"], kv_channels=size["head_dim"],
        normalization="RMSNorm" if size["rms_norm"] else "LayerNorm", layernorm_epsilon=size["norm_epsilon"],
        gated_linear_unit=size["swiglu"], activation_func=activation, add_bias_linear=not size["swiglu"],
        hidden_dropout=t["dropout"], attention_dropout=t["attention_dropout"], init_method_std=t["init_std"],
        tensor_model_parallel_size=run["tensor_parallel"], pipeline_model_parallel_size=run["pipeline_parallel"],
        sequence_parallel=settings["sequence_parallel"] and run["tensor_parallel"] > 1, bf16=half,
        params_dtype=torch.bfloat16 if half else torch.float32, pipeline_dtype=torch.bfloat16 if half else torch.float32,
        use_cpu_initialization=CPU, gradient_accumulation_fusion=False, persist_layer_norm=False,
        masked_softmax_fusion=False, bias_activation_fusion=False, bias_dropout_fusion=False,
        deterministic_mode=False, **recompute)


def spec_of(size):
    """Its layers by Transformer Engine's kernels where they are installed, else by PyTorch's."""
    from megatron.core.models.gpt import gpt_layer_specs as specs
    try:
        import transformer_engine.pytorch
        return specs.get_gpt_layer_with_transformer_engine_spec(), "transformer_engine"
    except ImportError:
        return specs.get_gpt_layer_local_spec(normalization="RMSNorm" if size["rms_norm"] else None), "local"


def build(run, size):
    from megatron.core import parallel_state
    from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig
    from megatron.core.distributed import finalize_model_grads
    from megatron.core.models.gpt import GPTModel
    from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
    from megatron.core.tensor_parallel import random
    from megatron.core.transformer.module import Float16Module
    t, settings = run["training"], run["settings"]
    parallel_state.initialize_model_parallel(run["tensor_parallel"], run["pipeline_parallel"])
    random.model_parallel_cuda_manual_seed(t["seed"])
    torch.manual_seed(t["seed"])
    config, (spec, kernels) = config_of(run, size), spec_of(size)
    model = GPTModel(config, spec, size["padded_vocab"], size["seq"],
                     pre_process=parallel_state.is_pipeline_first_stage(),
                     post_process=parallel_state.is_pipeline_last_stage(), parallel_output=True,
                     share_embeddings_and_output_weights=size["tied"],
                     position_embedding_type="rope" if size["rope"] else "learned_absolute",
                     rotary_base=int(size["rope_theta"]))
    if run["model"]["family"] == "gpt":
        first_weights(run, model)
    shards, half = settings["zero_stage"] == 1, settings["dtype"] == "bf16"
    model = model.to("cpu" if CPU else torch.cuda.current_device())
    if half:  # norms and embeddings too, as in Megatron-LM
        model = Float16Module(config, model)
    ddp = DistributedDataParallelConfig(grad_reduce_in_fp32=settings["fp32_accumulate"] or not half,
                                        overlap_grad_reduce=settings["overlap_grad_reduce"] and not CPU,
                                        use_distributed_optimizer=shards)
    model = DistributedDataParallel(config, ddp, model)
    optimizer = get_megatron_optimizer(OptimizerConfig(
        lr=t["learning_rate"], weight_decay=t["weight_decay"], adam_beta1=t["beta1"], adam_beta2=t["beta2"],
        adam_eps=t["epsilon"], clip_grad=t["clip"], bf16=half, use_distributed_optimizer=shards,
        params_dtype=torch.bfloat16 if half else torch.float32), [model])
    config.finalize_model_grads_func = finalize_model_grads
    config.grad_scale_func = optimizer.scale_loss
    return model, optimizer, kernels


NAMES = {"decoder.layers": "layers", "input_layernorm": "norm1", "pre_mlp_layernorm": "norm2",
         "self_attention.linear_qkv.layer_norm_": "norm1.", "mlp.linear_fc1.layer_norm_": "norm2.",
         "self_attention.linear_qkv": "qkv", "self_attention.linear_proj": "out", "mlp.linear_fc1": "up",
         "mlp.linear_fc2": "down", "decoder.final_layernorm": "final_norm", "embedding.": "",
         "word_embeddings": "word_embedding", "position_embeddings": "position_embedding",
         "output_layer": "word_embedding"}


def first_weights(run, model):
    """Fills a rank's part with the weights that orch's trainers begin with."""
    from megatron.core import parallel_state
    rank, ranks = parallel_state.get_tensor_model_parallel_rank(), run["tensor_parallel"]
    before = sum(1 for _ in model.decoder.layers) * parallel_state.get_pipeline_model_parallel_rank()
    drawn = Drawn(run["model"], options_of(run)).to("cpu" if CPU else torch.cuda.current_device())
    drawn.draw(run["training"]["seed"], run["training"]["init_std"])
    whole = drawn.state_dict()
    for name, parameter in model.named_parameters():
        for theirs, ours in NAMES.items():
            name = name.replace(theirs, ours)
        parts = name.split(".")
        if parts[0] == "layers":
            parts[1] = str(int(parts[1]) + before)
        value = whole[".".join(parts)]
        if value.shape != parameter.shape:  # its part of what tensor parallelism cuts
            value = value.chunk(ranks, parameter.partition_dim)[rank]
        with torch.no_grad():
            parameter.copy_(value)


class Batches:
    """The micro-batches of one replica, in order; each rank of it reads the same."""

    def __init__(self, run, folder, steps, rank):
        self.run, self.rank, self.data = run, rank, open_data(run, folder, 0, run["global_batch"] * steps)

    def of_step(self, consumed):
        micro, seq, replicas = self.run["micro_batch"], self.run["model"]["seq"], self.run["data_parallel"]
        for i in range(self.run["accumulate"]):
            begin = consumed + (i * replicas + self.rank) * micro
            tokens = self.data.read(range(begin, begin + micro), seq)
            yield tokens if CPU else tokens.cuda(non_blocking=True)


def forward_step(batches, model):
    tokens = next(batches)
    inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    places = torch.arange(inputs.shape[1], device=inputs.device).expand_as(inputs)
    mask = torch.ones(1, 1, inputs.shape[1], inputs.shape[1], dtype=torch.bool, device=inputs.device).triu(1)
    losses = model(inputs, places, mask, labels=targets)

    def mean(output):
        loss = output.float().mean()
        return loss, {"loss": loss.detach().clone()}  # its schedule divides the loss in place

    return losses, mean


def train(run, size, folder, attempt):
    begin()
    from megatron.core import parallel_state
    from megatron.core.pipeline_parallel import get_forward_backward_func
    t, steps, seq = run["training"], total_steps(run), run["model"]["seq"]
    model, optimizer, kernels = build(run, size)
    batches = Batches(run, folder, steps, parallel_state.get_data_parallel_rank())
    events, forward_backward = Events(attempt), get_forward_backward_func()
    if dist.get_rank() == 0:
        print(f"megatron.core with the layers of {kernels}", flush=True)
    events.tell("start", ranks=dist.get_world_size(), device="cpu" if CPU else torch.cuda.get_device_name(),
                torch=torch.__version__, parameters=run.get("parameters", 0), effective={})
    for step in range(1, steps + 1):
        began, consumed = time.perf_counter(), (step - 1) * run["global_batch"]
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(t, step, steps)
            group["weight_decay"] = t["weight_decay"] * group.get("wd_mult", 1.0)  # of biases and norms 0
        model.zero_grad_buffer()
        optimizer.zero_grad()
        found = forward_backward(forward_step_func=forward_step, data_iterator=batches.of_step(consumed), model=[model],
                                 num_microbatches=run["accumulate"], seq_length=seq,
                                 micro_batch_size=run["micro_batch"], forward_only=False)
        _, norm, _ = optimizer.step()
        # The losses of the last stage's replicas, as rank 0 reads them.
        sums = torch.zeros(2, dtype=torch.float64, device="cpu" if CPU else torch.cuda.current_device())
        if found and parallel_state.get_tensor_model_parallel_rank() == 0:
            sums += torch.tensor([sum(float(part["loss"]) for part in found), len(found)], device=sums.device)
        dist.all_reduce(sums)
        loss, seconds = (sums[0] / sums[1]).item(), time.perf_counter() - began
        if dist.get_rank() == 0 and (step % t["log_every"] == 0 or step == steps):
            rate, per_second = learning_rate(t, step, steps), run["global_batch"] * seq / seconds
            print(line(step, steps, consumed + run["global_batch"], seq, seconds, rate, run["global_batch"], loss,
                       norm or 0.0, per_second), flush=True)
            peak = 0 if CPU else torch.cuda.max_memory_allocated()
            events.tell("step", step=step, loss=loss, step_seconds=seconds, tokens=step * run["global_batch"] * seq,
                        tokens_per_second=per_second, peak_memory_bytes=peak, gradient_norm=float(norm or 0.0),
                        learning_rate=rate, loss_scale=1.0, skipped=False, communicated_bytes=0)
        if not math.isfinite(loss):
            events.tell("failed", **{"class": "nan", "message": f"the loss of step {step} is not finite"})
            raise SystemExit(1)
    if dist.get_rank() == 0:
        events.tell("end", step=steps)
        open(os.path.join(attempt, "finished"), "w").close()
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--run", required=True, help="run.json of the run's folder")
    parser.add_argument("--attempt", required=True, help="the attempt's folder")
    arguments = parser.parse_args()
    folder = os.path.dirname(os.path.abspath(arguments.run))
    with open(arguments.run) as file:
        run = json.load(file)
    with open(os.path.join(folder, "megatron_core.json")) as file:
        size = json.load(file)
    train(run, size, folder, arguments.attempt)


if __name__ == "__main__":
    main()
