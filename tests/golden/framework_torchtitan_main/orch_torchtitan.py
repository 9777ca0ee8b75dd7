from torchtitan.components.lr_scheduler import LRSchedulersContainer
from torchtitan.components.metrics import MetricsProcessor
from torchtitan.components.optimizer import OptimizersContainer
from torchtitan.config import ActivationCheckpointConfig, ParallelismConfig, TrainingConfig
from torchtitan.models.llama3 import config_registry


def run():
    config = config_registry.llama3_8b()
    config.training = TrainingConfig(enable_cpu_offload=False, max_context_length=8192, max_norm=1, mixed_precision_param="bfloat16", num_pp_microbatches=32, num_tokens_per_microbatch_per_dp_rank=8192, num_tokens_per_train_step=524288, steps=50)
    config.optimizer = OptimizersContainer.Config(beta1=0.9, beta2=0.95, eps=1e-08, lr=0.0003, weight_decay=0.1)
    config.lr_scheduler = LRSchedulersContainer.Config(decay_type="cosine", min_lr_factor=0.1, warmup_steps=0)
    config.parallelism = ParallelismConfig(context_parallel_degree=1, data_parallel_replicate_degree=2, data_parallel_shard_degree=1, fsdp_reshard_after_forward="default", pipeline_parallel_degree=4, pipeline_parallel_layers_per_stage=9, pipeline_parallel_schedule="1F1B", tensor_parallel_degree=2)
    config.activation_checkpoint = ActivationCheckpointConfig(mode="full")
    config.metrics = MetricsProcessor.Config(log_freq=1)
    config.checkpoint.interval = 1
    config.debug.seed = 1234
    return config
