# Llama 3 8B by torchtitan, on two nodes.
cat <<END > run.toml
[model]
name = "llama3"
flavor = "8B"
[optimizer]
name = "AdamW"
lr = 3e-4
[lr_scheduler]
warmup_steps = 200
[training]
local_batch_size = 1
seq_len = 8192
steps = 1000
[parallelism]
data_parallel_shard_degree = -1
[activation_checkpoint]
mode = "selective"
END
torchrun --nproc_per_node 8 --nnodes 2 -m torchtitan.train --job.config_file run.toml --training.steps 2000
