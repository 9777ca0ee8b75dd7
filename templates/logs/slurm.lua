-- SLURM's messages in the log of a job, and what is common to all: dates, command lines.

local lines = {
  { name = "out of memory", has = "oom-kill event", failure = "host_memory", priority = 50 },
  { name = "out of memory, today", has = "oom_kill event", failure = "host_memory", priority = 50 },
  { name = "memory limit", has = "exceeded memory limit", failure = "host_memory", priority = 50,
    match = [[(?:slurmstepd|StepId=).*exceeded memory limit]] },
  { name = "task out of memory", has = ": Out Of Memory", failure = "host_memory", priority = 50,
    match = [[srun: error: .*: Out Of Memory]] },
  { name = "cgroup", has = "killed by the cgroup out-of-memory handler", failure = "host_memory",
    priority = 50 },
  { name = "time limit", has = "DUE TO TIME LIMIT", failure = "timeout", priority = 45 },
  { name = "node failure", has = "DUE TO NODE FAILURE", failure = "node", priority = 50 },
  { name = "node failure, short", has = "NODE FAILURE", failure = "node", priority = 50 },
  { name = "node failure of a step", has = "error: Node failure on ", failure = "node", priority = 50 },
  { name = "requeued", has = "DUE TO JOB REQUEUE", failure = "preempted", priority = 45 },
  { name = "preempted, by submitit", has = ": this job is preempted", failure = "preempted",
    priority = 45 },
  { name = "time limit, by submitit", has = ": this job is timed-out", failure = "timeout",
    priority = 45 },
  { name = "preempted", has = "DUE TO PREEMPTION", failure = "preempted", priority = 45 },
  -- srun also cancels a step when one of its ranks has failed: NCCL's messages have priority.
  { name = "step cancelled", has = "CANCELLED AT ", cancelled = true, priority = 20,
    match = [[STEP .*CANCELLED AT (?!.*DUE TO (?:TIME|NODE|PREEMPTION|JOB REQUEUE))]] },
  { name = "cancelled", has = "CANCELLED AT ", cancelled = true, priority = 40,
    match = [[^(?!.*STEP ).*CANCELLED AT (?!.*DUE TO (?:TIME|NODE|PREEMPTION|JOB REQUEUE))]] },
  { name = "task killed", has = ": Killed", failure = "bad_exit", exits = true, priority = 12,
    match = [[srun: error: .*: Killed]] },
  { name = "task died", has = "egmentation fault", failure = "bad_exit", exits = true, priority = 14,
    match = [[srun: error: .*: Segmentation fault]] },
  { name = "exit code", has = "xited with exit code", failure = "bad_exit", exits = true, priority = 8,
    match = [[srun: error: .*: Exited with exit code]] },
  { name = "terminated", has = "srun: Force Terminated", failure = "bad_exit", priority = 4 },

  -- Messages of a normal exit. They are printed after an error as well, which counts.
  { name = "left, by W&B", has = "wandb: Waiting for W&B process to finish... (success)", stopped = true },
  { name = "left, by today's W&B", has = "wandb: Synced ", stopped = true,
    match = [[wandb: Synced \d+ W&B file]] },

  { name = "failed, by W&B", has = "wandb: Waiting for W&B process to finish... (failed",
    failure = "bad_exit", exits = true, priority = 8 },

  { name = "job", has = "SLURM_JOB_ID=", match = [[\bSLURM_JOB_ID=["']?(?<job>[\w_]+)]] },
  { name = "job of old", has = "SLURM_JOBID=", match = [[\bSLURM_JOBID=["']?(?<job>[\w_]+)]] },
  { name = "job of a message", has = "slurmstepd: error: *** ",
    match = [[\*\*\* (?:JOB|STEP) (?<job>\d+)]] },
  { name = "job of a step", has = " StepId=", match = [[StepId=(?<job>\d+)]] },
  { name = "nodes", has = "SLURM_NNODES=", weight = 3, match = [[\bSLURM_NNODES=["']?(?<nodes>\d+)]] },
  { name = "nodes of a job", has = "SLURM_JOB_NUM_NODES=", weight = 3,
    match = [[\bSLURM_JOB_NUM_NODES=["']?(?<nodes>\d+)]] },
  { name = "GPUs of a node", has = "SLURM_GPUS_ON_NODE=", weight = 3,
    match = [[\bSLURM_GPUS_ON_NODE=["']?(?<gpus_per_node>\d+)]] },
  { name = "names", has = "SLURM_JOB_NODELIST=",
    match = [=[\bSLURM_JOB_NODELIST=["']?(?<node_list>[\w\[\],.-]+)]=] },
  { name = "cluster", has = "SLURM_CLUSTER_NAME=", match = [[\bSLURM_CLUSTER_NAME=["']?(?<site>[\w-]+)]] },
  { name = "dates", has = "] datetime: ",
    match = [[datetime: (?<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)]] },
}

-- "srun python train.py --num-layers 24": the command line in a script's output. What a program
-- itself prints has priority.
for flag, target in pairs({
  per_device_train_batch_size = "mbs", gradient_accumulation_steps = "gas", max_seq_len = "seq",
  block_size = "seq", zero_stage = "zero_stage", model_name_or_path = "more_model_name",
  ["num-layers"] = "layers", ["hidden-size"] = "hidden", ["num-attention-heads"] = "heads",
  ["seq-length"] = "seq", ["micro-batch-size"] = "mbs", ["global-batch-size"] = "gbs",
  ["tensor-model-parallel-size"] = "tp", ["pipeline-model-parallel-size"] = "pp",
  ["train-iters"] = "steps_planned",
}) do
  lines[#lines + 1] = { name = "--" .. flag, has = "--" .. flag, weight = 0,
    match = "--" .. flag .. [[[ =]['"]?(?<]] .. target .. [[>[\w./-]+)]] }
end

return { lines = lines }
