"""Trains a run of orch with plain PyTorch: DDP (with compression by its hooks), FSDP2 or DeepSpeed.

    RANK=0 LOCAL_RANK=0 WORLD_SIZE=1 MASTER_ADDR=... MASTER_PORT=... \
        python3 torch_driver.py --run run.json --attempt attempts/1

It begins with the weights that orch's trainers begin with (drawn by counting: an element's number is a
function of its tensor's name and place), reads the same samples in the same order and learns by the same
rules, so that losses compare, not only speeds. It prints a line per step as our trainers do, and leaves
events.jsonl and `finished` in the attempt's folder. SIGUSR1: save and leave.
"""
import argparse, contextlib, json, math, os, signal, sys, time

import numpy
import torch
import torch.distributed as dist
import torch.nn.functional as F
import torch.utils.checkpoint

# --- random numbers by counting (core/base/counter_random.h), in wrapping 64-bit integers ------------


def signed(x):
    x &= (1 << 64) - 1
    return x - (1 << 64) if x >> 63 else x


def shifted(x, by):  # a logical shift
    return (x >> by) & ((1 << (64 - by)) - 1)


def mix(x):
    if isinstance(x, int):
        x = (x + 0x9E3779B97F4A7C15) & (1 << 64) - 1
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
        x = (x ^ x >> 27) * 0x94D049BB133111EB & (1 << 64) - 1
        return x ^ x >> 31
    x = x + signed(0x9E3779B97F4A7C15)
    x = (x ^ shifted(x, 30)) * signed(0xBF58476D1CE4E5B9)
    x = (x ^ shifted(x, 27)) * signed(0x94D049BB133111EB)
    return x ^ shifted(x, 31)


def combine(key, other):
    return mix(key ^ mix(other))


def key_of(name):  # FNV-1a
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return value


def bits(key, index):  # of a tensor of places
    return mix(index * signed(0x9E3779B97F4A7C15) + signed(key))


def normal_(tensor, std, key):
    """Fills a tensor as the trainers do, some rows at a time."""
    flat, part = tensor.view(-1), 1 << 24
    for first in range(0, flat.numel(), part):
        index = torch.arange(first, min(first + part, flat.numel()), device=flat.device)
        u = 1.0 - shifted(bits(key, 2 * index), 40).float().mul(2.0**-24).double()
        v = shifted(bits(key, 2 * index + 1), 40).float().mul(2.0**-24).double()
        drawn = (torch.sqrt(-2 * torch.log(u)) * torch.cos(2 * math.pi * v)).float()
        flat[first : first + len(index)] = drawn * numpy.float32(std).item()


# --- samples, in the order of core/train/data -------------------------------------------------------------


class Synthetic:
    def __init__(self, vocab, seed, split):
        self.vocab = vocab
        self.factor = int(0.618 * vocab) + 1
        while math.gcd(self.factor, vocab) != 1:
            self.factor += 1
        self.key = combine(combine(key_of("synthetic data"), seed), split)
        self.powers = torch.tensor([[1], [0]])

    def after(self, steps):
        """What follows a token after so many steps is powers[0] * token + powers[1]."""
        if self.powers.shape[1] <= steps:
            rows = [(1, 0)]
            for _ in range(steps):
                rows.append((rows[-1][0] * self.factor % self.vocab, (rows[-1][1] * self.factor + 1) % self.vocab))
            self.powers = torch.tensor(rows).T
        return self.powers

    def read(self, samples, seq):
        keys = torch.tensor([signed(combine(self.key, s)) for s in samples]).unsqueeze(1)
        places = torch.arange(seq + 1)
        drawn = mix(places * signed(0x9E3779B97F4A7C15) + keys)
        other = shifted(shifted(drawn, 32) * self.vocab, 32)
        follows = (drawn & 3) != 0
        follows[:, 0] = False
        last = torch.where(follows, 0, places).cummax(1).values  # the last place that follows nothing
        factor, summand = self.after(seq)[:, places - last]
        return (factor * other.gather(1, last) + summand) % self.vocab


class Indexed:
    """Megatron's .bin and .idx: documents shuffled by epoch, cut every seq tokens, samples shuffled."""

    TYPES = {1: "u1", 2: "i1", 3: "<i2", 4: "<i4", 5: "<i8", 8: "<u2"}

    def __init__(self, prefix, split, which, seq, samples, seed, vocab):
        raw = numpy.memmap(prefix + ".idx", mode="r")
        if bytes(raw[:9]) != b"MMIDIDX\0\0":
            raise SystemExit(f"{prefix}.idx: not an index of Megatron's: name the prefix of a .bin and an .idx")
        count = int(raw[18:26].view("<u8")[0])
        kind = numpy.dtype(self.TYPES[int(raw[17])])
        sizes = raw[34 : 34 + 4 * count].view("<i4").astype(numpy.int64)
        begins = raw[34 + 4 * count : 34 + 12 * count].view("<i8") // kind.itemsize
        self.tokens, self.vocab = numpy.memmap(prefix + ".bin", dtype=kind, mode="r"), vocab
        shares = [float(s) for s in split.split(",")]
        shares = (shares + [0, 0, 0])[:3]
        ends = [sum(shares[: i + 1]) / sum(shares) for i in range(3)]
        at = lambda x: round(x * count)
        first, last = at(ends[which - 1] if which else 0), min(at(ends[which]), count)
        documents = self.order(sizes[first:last], first, seq, samples, seed)
        self.ends = numpy.cumsum(sizes[documents])
        self.begins, self.sizes = begins[documents], sizes[documents]

    def order(self, sizes, first, seq, samples, seed):
        tokens, random = int(sizes.sum()), numpy.random.RandomState(seed)
        epochs = max(1, -(-(samples * seq + 1) // tokens))
        before = ((epochs - 1) * tokens - 1) // seq
        apart = epochs > 1 and samples - before < int(0.80 * ((tokens - 1) // seq))
        parts = [epochs - 1, 1] if apart else [epochs]
        documents = []
        for part in parts:
            block = numpy.tile(numpy.arange(first, first + len(sizes), dtype=numpy.uint32), part)
            random.shuffle(block)
            documents.append(block)
        self.shuffle = numpy.arange((epochs * tokens - 1) // seq, dtype=numpy.uint32)
        together = before if apart else len(self.shuffle)
        random.shuffle(self.shuffle[:together])
        random.shuffle(self.shuffle[together:])
        return numpy.concatenate(documents)

    def read(self, samples, seq):
        out = numpy.empty((len(samples), seq + 1), dtype=numpy.int64)
        for row, sample in enumerate(samples):
            at, done = int(self.shuffle[sample]) * seq, 0
            place = int(numpy.searchsorted(self.ends, at, side="right"))
            while done < seq + 1:
                offset = at + done - int(self.ends[place] - self.sizes[place])
                n = min(int(self.sizes[place]) - offset, seq + 1 - done)
                begin = int(self.begins[place]) + offset
                out[row, done : done + n] = self.tokens[begin : begin + n]
                done, place = done + n, place + 1
        if out.min() < 0 or out.max() >= self.vocab:
            raise SystemExit(f"token {out.max()} in a vocabulary of {self.vocab}: build the data with the model's tokenizer")
        return torch.from_numpy(out)


# --- the model: gpt and bloom, with the trainers' names -----------------------------------------------


class Block(torch.nn.Module):
    def __init__(self, model, options):
        super().__init__()
        h, self.heads, self.options = model["hidden"], model["heads"], options
        self.norm1, self.norm2 = (torch.nn.LayerNorm(h, eps=options["epsilon"]) for _ in range(2))
        self.qkv, self.out = torch.nn.Linear(h, 3 * h), torch.nn.Linear(h, h)
        self.up, self.down = torch.nn.Linear(h, 4 * h), torch.nn.Linear(4 * h, h)

    def attend(self, q, k, v, bias):
        drop = self.options["attention_dropout"] if self.training else 0.0
        if self.options["flash"]:
            causal = self.options["slopes"] is None
            return F.scaled_dot_product_attention(q, k, v, None if causal else bias.to(q.dtype), drop, causal)
        scores = (q @ k.transpose(-1, -2)).float() / math.sqrt(q.shape[-1]) + bias
        return F.dropout(torch.softmax(scores, -1), drop).to(v.dtype) @ v

    def forward(self, x, bias):
        samples, seq, h = x.shape
        # Of each head its query, key and value lie together.
        qkv = self.qkv(self.norm1(x)).view(samples, seq, self.heads, 3, -1)
        q, k, v = (part.transpose(1, 2) for part in qkv.unbind(3))
        attend = self.attend
        if self.options["recompute"] == "selective" and self.training:
            attend = lambda *parts: torch.utils.checkpoint.checkpoint(self.attend, *parts, use_reentrant=False)
        attended = attend(q, k, v, bias).transpose(1, 2).reshape(samples, seq, h)
        x = x + F.dropout(self.out(attended), self.options["dropout"], self.training)
        mlp = self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))
        return x + F.dropout(mlp, self.options["dropout"], self.training)


class Model(torch.nn.Module):
    NAMES = {"qkv": "attention.qkv", "out": "attention.out", "up": "mlp.up", "down": "mlp.down"}

    def __init__(self, model, options):
        super().__init__()
        h, self.vocab, self.options = model["hidden"], model["vocab"], options
        self.word_embedding = torch.nn.Embedding((self.vocab + 127) // 128 * 128, h)
        bloom = model["family"] == "bloom"
        self.position_embedding = None if bloom else torch.nn.Embedding(model["seq"], h)
        self.embedding_norm = torch.nn.LayerNorm(h, eps=options["epsilon"]) if bloom else None
        self.layers = torch.nn.ModuleList(Block(model, options) for _ in range(model["layers"]))
        self.final_norm = torch.nn.LayerNorm(h, eps=options["epsilon"])

    def orch_name(self, name):
        parts = name.split(".")
        return ".".join(self.NAMES.get(part, part) for part in parts)

    def draw(self, seed, std):
        scaled = std / math.sqrt(2.0 * len(self.layers))
        for name, parameter in self.named_parameters():
            with torch.no_grad():
                if parameter.dim() < 2:
                    parameter.fill_(0.0 if name.endswith("bias") else 1.0)
                    continue
                spread = scaled if ".out." in name or ".down." in name else std
                normal_(parameter, spread, combine(seed, key_of(self.orch_name(name))))

    def bias(self, seq, device):
        places = torch.arange(seq, device=device)
        bias = torch.full((seq, seq), -math.inf, device=device).triu(1)
        if self.options["slopes"] is None:
            return bias
        slopes = torch.tensor(self.options["slopes"], device=device).view(-1, 1, 1)
        return bias + slopes * (places - places.view(-1, 1))

    def forward(self, tokens, targets):
        x = self.word_embedding(tokens)
        if self.position_embedding is not None:
            x = x + self.position_embedding(torch.arange(tokens.shape[1], device=tokens.device))
        x = self.embedding_norm(x) if self.embedding_norm is not None else F.dropout(
            x, self.options["dropout"], self.training)
        bias = self.bias(tokens.shape[1], tokens.device)
        for block in self.layers:
            if self.options["recompute"] == "full" and self.training:
                x = torch.utils.checkpoint.checkpoint(block, x, bias, use_reentrant=False)
            else:
                x = block(x, bias)
        logits = F.linear(self.final_norm(x), self.word_embedding.weight)[..., : self.vocab].float()
        return F.cross_entropy(logits.reshape(-1, self.vocab), targets.reshape(-1))


def alibi_slopes(heads):
    power = 2 ** math.floor(math.log2(heads))
    return [2.0 ** -(8.0 * (i + 1) / power if i < power else 4.0 * (2 * (i - power) + 1) / power)
            for i in range(heads)]


# --- how ranks share the work ---------------------------------------------------------------------------


def groups_of(model, weight_decay):
    decays = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() < 2]
    return [{"params": decays, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]


def compress(ddp, settings):
    kind = settings.get("compression", "none")
    if kind == "powersgd":
        from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as powersgd
        state = powersgd.PowerSGDState(
            None, matrix_approximation_rank=settings["powersgd_rank"],
            start_powerSGD_iter=max(2, settings["powersgd_start"]),
            min_compression_rate=settings["powersgd_min_compression_rate"])
        ddp.register_comm_hook(state, powersgd.powerSGD_hook)
    elif kind != "none":
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
        ddp.register_comm_hook(None, getattr(default_hooks, kind + "_compress_hook"))
    return ddp


def shard(model, run, settings, device):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy, fully_shard
    half = {"bf16": torch.bfloat16}.get(settings["dtype"])
    reduce = torch.float32 if settings.get("reduce_dtype") == "fp32" or half is None else half
    sharding, ranks = settings.get("sharding", "full"), dist.get_world_size()
    mesh = init_device_mesh(device.type, (ranks,))
    if sharding == "hybrid":
        group = settings.get("hybrid_shard_group") or min(run["gpus_per_node"], ranks)
        mesh = init_device_mesh(device.type, (ranks // group, group), mesh_dim_names=("mirror", "shard"))
    words = {
        "mesh": mesh, "reshard_after_forward": sharding != "grad_op",
        "mp_policy": MixedPrecisionPolicy(param_dtype=half, reduce_dtype=reduce),
        "offload_policy": CPUOffloadPolicy() if settings.get("offload") == "full" else OffloadPolicy(),
    }
    for block in model.layers:
        fully_shard(block, **words)
    return fully_shard(model, **words)


def compiled(model, how):
    """Fails where it cannot. FSDP2 gathers between layers: there each is compiled by itself, without its gathers."""
    if how != "fsdp":
        return torch.compile(model, fullgraph=True)
    for i, block in enumerate(model.layers):
        model.layers[i] = torch.compile(block, fullgraph=True)
    return model


def import_deepspeed(device):
    os.environ.setdefault("DS_ACCELERATOR", device)
    import deepspeed
    if device == "cpu":  # its collectives in shared memory would be compiled first; Gloo is there
        deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    return deepspeed


class Trainer:
    """Forward, backward and update of one step, whoever shares the work."""

    def __init__(self, run, model, device, config=None, compile_it=False):
        self.run, self.settings, self.training, self.device = run, run["settings"], run["training"], device
        self.config = config  # DeepSpeed's
        self.how = "deepspeed" if config else "ddp" if run["strategy"] == "ddp" else "fsdp"
        self.half = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(self.settings["dtype"])
        self.scaler = None
        t = self.training
        if compile_it:
            model = compiled(model, self.how)
        if self.how == "deepspeed":
            return self.begin_deepspeed(model)
        if self.how == "fsdp":
            self.model = shard(model, run, self.settings, device)
        else:
            words = {"bucket_cap_mb": self.settings["bucket_mb"],
                     "gradient_as_bucket_view": self.settings["gradient_as_bucket_view"]}
            on = [device.index] if device.type == "cuda" else None
            self.model = compress(torch.nn.parallel.DistributedDataParallel(model, device_ids=on, **words), self.settings)
            if self.half is torch.float16:
                self.scaler = torch.cuda.amp.GradScaler(init_scale=t["loss_scale"], growth_interval=t["loss_scale_window"])
        fused = {"fused": True} if device.type == "cuda" else {}
        self.optimizer = torch.optim.AdamW(groups_of(self.model, t["weight_decay"]), lr=t["learning_rate"],
                                           betas=(t["beta1"], t["beta2"]), eps=t["epsilon"], **fused)

    def begin_deepspeed(self, model):
        deepspeed = import_deepspeed(self.device.type)
        groups = groups_of(model, self.training["weight_decay"])
        self.model, self.optimizer, _, _ = deepspeed.initialize(
            model=model, model_parameters=groups, config=self.config, dist_init_required=False)

    def autocast(self):
        if self.how != "ddp" or self.half is None:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, dtype=self.half)

    def backward(self, loss, last):
        if self.how == "deepspeed":
            return self.model.backward(loss)
        if self.how == "fsdp":
            self.model.set_requires_gradient_sync(last)
        loss = loss / self.run["accumulate"]
        (self.scaler.scale(loss) if self.scaler else loss).backward()

    def step(self, batches, rate):
        """The mean loss of this rank and the gradient's norm."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        losses = []
        for i, (tokens, targets) in enumerate(batches):
            last = i + 1 == len(batches)
            wait = self.model.no_sync() if self.how == "ddp" and not last else contextlib.nullcontext()
            with wait:
                with self.autocast():
                    loss = self.model(tokens, targets)
                self.backward(loss, last)
            losses.append(loss.detach())
            if self.how == "deepspeed":
                self.model.step()
        loss = torch.stack(losses).mean().float()
        if self.how == "deepspeed":
            return loss, float(self.model.get_global_grad_norm() or 0.0)
        return loss, self.update()

    def update(self):
        if self.scaler:
            self.scaler.unscale_(self.optimizer)
        clip = self.training["clip"] or math.inf
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), clip)
        norm = norm.full_tensor() if hasattr(norm, "full_tensor") else norm
        if self.scaler:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return float(norm)

    # One file for DDP; what is sharded is saved by all ranks.
    def save(self, folder, step, consumed):
        place = os.path.join(folder, f"torch-{step:08d}")
        facts = {"step": step, "consumed": consumed}
        if self.how == "ddp":
            if dist.get_rank() == 0:
                os.makedirs(folder, exist_ok=True)
                state = {"model": self.model.module.state_dict(), "optimizer": self.optimizer.state_dict(), **facts}
                torch.save(state, place + ".part")
                os.replace(place + ".part", place)
        elif self.how == "deepspeed":
            self.model.save_checkpoint(folder, tag=os.path.basename(place), client_state=facts)
        else:
            import torch.distributed.checkpoint as dcp
            from torch.distributed.checkpoint.state_dict import get_state_dict
            model, optimizer = get_state_dict(self.model, self.optimizer)
            dcp.save({"model": model, "optimizer": optimizer}, checkpoint_id=place)
        dist.barrier()
        if dist.get_rank() == 0:
            with open(os.path.join(folder, ".latest"), "w") as file:
                json.dump({**facts, "name": os.path.basename(place)}, file)
            os.replace(os.path.join(folder, ".latest"), os.path.join(folder, "torch-latest.json"))

    def load(self, folder):
        try:
            with open(os.path.join(folder, "torch-latest.json")) as file:
                facts = json.load(file)
        except FileNotFoundError:
            return 0, 0
        place = os.path.join(folder, facts["name"])
        if self.how == "ddp":
            state = torch.load(place, map_location=self.device)
            self.model.module.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
        elif self.how == "deepspeed":
            self.model.load_checkpoint(folder, tag=facts["name"])
        else:
            import torch.distributed.checkpoint as dcp
            from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
            model, optimizer = get_state_dict(self.model, self.optimizer)
            state = {"model": model, "optimizer": optimizer}
            dcp.load(state, checkpoint_id=place)
            set_state_dict(self.model, self.optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
        return facts["step"], facts["consumed"]


# --- the loop ---------------------------------------------------------------------------------------------


def learning_rate(t, step, steps):
    most, least, warmup, decay = t["learning_rate"], t["min_learning_rate"], t["warmup_steps"], t["decay_steps"] or steps
    if step <= warmup:
        return most * step / warmup
    if t["schedule"] == "constant":
        return most
    if step >= decay:
        return least
    done = (step - warmup) / (decay - warmup)
    if t["schedule"] == "linear":
        return most - (most - least) * done
    return least + (most - least) * (1 + math.cos(math.pi * done)) / 2


class Events:
    def __init__(self, attempt):
        self.file = open(os.path.join(attempt, "events.jsonl"), "a") if dist.get_rank() == 0 else None

    def tell(self, event, **fields):
        if self.file:
            self.file.write(json.dumps({"event": event, "time": time.time(), **fields}) + "\n")
            self.file.flush()


def total_steps(run):
    return run["steps"] or math.ceil(math.ceil(run["tokens"] / run["model"]["seq"]) / run["global_batch"])


def line(step, steps, consumed, seq, seconds, rate, batch, loss, norm, per_second):
    return (f" iteration {step:8}/{steps:8} | consumed samples: {consumed:12} | consumed tokens: {consumed * seq:12} | "
            f"elapsed time per iteration (s): {seconds:.3f} | learning rate: {rate:.3E} | global batch size: {batch:5} | "
            f"lm loss: {loss:.6E} | grad norm: {norm:.3f} | tokens per second: {per_second:.1f} |")


def open_data(run, folder, split, samples):
    t, model = run["training"], run["model"]
    if not t["data"]:
        return Synthetic(model["vocab"], t["seed"], split)
    prefix = os.path.join(folder, run.get("paths_from", ""), t["data"])
    return Indexed(prefix, t["split"], split, model["seq"], samples, t["seed"], model["vocab"])


def micro_batches(run, data, first, device):
    micro, seq, rank = run["micro_batch"], run["model"]["seq"], dist.get_rank()
    for i in range(run["accumulate"]):
        begin = first + (i * dist.get_world_size() + rank) * micro
        tokens = data.read(range(begin, begin + micro), seq)
        if device.type == "cuda":
            tokens = tokens.pin_memory()
        tokens = tokens.to(device, non_blocking=True)
        yield tokens[:, :-1], tokens[:, 1:]


def mean_over_ranks(value, device):
    value = torch.as_tensor(value, dtype=torch.float64, device=device)
    dist.all_reduce(value)
    return value.item() / dist.get_world_size()


def evaluate(run, trainer, data, device):
    trainer.model.eval()
    losses = []
    with torch.no_grad():
        for batch in range(run["training"]["evaluate_batches"]):
            for tokens, targets in micro_batches(run, data, batch * run["global_batch"], device):
                with trainer.autocast():
                    losses.append(trainer.model(tokens, targets).float())
    trainer.model.train()
    return mean_over_ranks(torch.stack(losses).mean(), device)


def begin(device):
    local = int(os.environ["LOCAL_RANK"])
    if device.type == "cuda":
        torch.cuda.set_device(local % torch.cuda.device_count())
        device = torch.device("cuda", torch.cuda.current_device())
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    return device


def options_of(run):
    model, settings, t = run["model"], run["settings"], run["training"]
    flash = settings.get("flash_attention", False)
    if flash and not hasattr(F, "scaled_dot_product_attention"):
        raise SystemExit(f"PyTorch {torch.__version__} has no fused attention: use 2.0 or later, or flash_attention = false")
    return {"epsilon": model.get("norm_epsilon", 1e-5), "dropout": t["dropout"],
            "attention_dropout": t["attention_dropout"], "recompute": settings["recompute"], "flash": flash,
            "slopes": alibi_slopes(model["heads"]) if model["family"] == "bloom" else None}


def train(run, folder, attempt, config, compile_it):
    stop = []
    signal.signal(signal.SIGUSR1, lambda *_: stop.append(1))
    device = begin(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    torch.backends.cuda.matmul.allow_tf32 = run["settings"]["dtype"] == "tf32"
    t, steps, seq = run["training"], total_steps(run), run["model"]["seq"]
    torch.manual_seed(t["seed"] + dist.get_rank())
    with device:
        model = Model(run["model"], options_of(run))
    model.draw(t["seed"], t["init_std"])
    trainer, events = Trainer(run, model, device, config, compile_it), Events(attempt)
    checkpoints = os.path.join(folder, "checkpoints")
    step, consumed = trainer.load(checkpoints)
    data = open_data(run, folder, 0, run["global_batch"] * steps)
    held_out = open_data(run, folder, 1, run["global_batch"] * t["evaluate_batches"]) if t["evaluate_every"] else None
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    events.tell("start", ranks=dist.get_world_size(), device=name, torch=torch.__version__,
                parameters=sum(p.numel() for p in model.parameters()), effective={})
    saved, leave = step, False
    while step < steps and not leave:
        began = time.perf_counter()
        rate = learning_rate(t, step + 1, steps)
        loss, norm = trainer.step(list(micro_batches(run, data, consumed, device)), rate)
        loss = mean_over_ranks(loss, device)  # waits for the device
        seconds = time.perf_counter() - began
        step, consumed = step + 1, consumed + run["global_batch"]
        per_second = run["global_batch"] * seq / seconds
        if dist.get_rank() == 0 and (step % t["log_every"] == 0 or step == steps):
            peak = torch.cuda.max_memory_allocated() if device.type == "cuda" else 0
            print(line(step, steps, consumed, seq, seconds, rate, run["global_batch"], loss, norm, per_second), flush=True)
            events.tell("step", step=step, loss=loss, step_seconds=seconds, tokens=consumed * seq,
                        tokens_per_second=per_second, peak_memory_bytes=peak, gradient_norm=norm, learning_rate=rate,
                        loss_scale=trainer.scaler.get_scale() if trainer.scaler else 1.0, skipped=False,
                        communicated_bytes=0)
        if not math.isfinite(loss):
            events.tell("failed", **{"class": "nan", "message": f"the loss of step {step} is not finite"})
            raise SystemExit(1)
        if held_out and step % t["evaluate_every"] == 0:
            events.tell("evaluation", step=step, loss=evaluate(run, trainer, held_out, device))
        leave = mean_over_ranks(float(bool(stop)), device) > 0
        if leave or step == steps or (t["checkpoint_every"] and step % t["checkpoint_every"] == 0):
            if t["keep_checkpoints"] and saved != step:
                trainer.save(checkpoints, step, consumed)
                events.tell("checkpoint", step=step)
                saved = step
    if step == steps and dist.get_rank() == 0:
        events.tell("end", step=step)
        open(os.path.join(attempt, "finished"), "w").close()
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--run", required=True, help="run.json of the run's folder")
    parser.add_argument("--attempt", required=True, help="the attempt's folder")
    parser.add_argument("--deepspeed", help="DeepSpeed's configuration; without it DDP or FSDP2 shares the work")
    parser.add_argument("--compile", action="store_true", help="torch.compile: the model, or with FSDP2 each of its layers")
    arguments = parser.parse_args()
    with open(arguments.run) as file:
        run = json.load(file)
    config = None
    if arguments.deepspeed:
        with open(arguments.deepspeed) as file:
            config = json.load(file)
    train(run, os.path.dirname(os.path.abspath(arguments.run)), arguments.attempt, config, arguments.compile)


if __name__ == "__main__":
    main()
