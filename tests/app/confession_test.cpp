#include <sys/stat.h>

#include "core/app/run_logs.h"
#include "tests/app/desk.h"

using namespace orch;
using record::Failure;

namespace {

constexpr const char* kFailed =
    R"({"version": 1, "state": "failed", "phase": 1, "phases": 1, "nodes": [], "bad_nodes": []})";

// For one attempt; the patterns are read once.
record::FailureReport read_confession(const fs::path& attempt_folder) {
  static app::RunLogs logs;
  return logs.confession(attempt_folder);
}

record::FailureReport confession_of(const std::string& log, const std::string& events = "") {
  const Desk desk;
  desk.file("stdout.log", log);
  desk.file("events.jsonl", events);
  return read_confession(desk.root());
}

std::string failed(const std::string& kind, const std::string& message) {
  return R"({"event":"failed","time":1,"class":")" + kind + R"(","message":")" + message + "\"}\n";
}

Failure failure_of(const std::string& line) {
  const auto confession = confession_of("loading data\nstep 1 loss 11.2\n" + line + "\nbye\n");
  CHECK((confession.failure == Failure::none) == confession.line.empty());
  return confession.failure;
}

}  // namespace

// Lines in the formats of PyTorch, NCCL, slurmstepd, srun and the NVIDIA driver.
TEST_CASE("known failures are recognised by the lines that tell of them", "[app][log]") {
  for (const std::string line :
       {"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 166.00 MiB (GPU 0; "
        "8.00 GiB total capacity; 6.93 GiB already allocated)",
        "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB",
        "RuntimeError: CUDA error: out of memory",
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 0",
        "terminate called after throwing an instance of 'c10::OutOfMemoryError'",
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "n1:2338:2379 [2] transport.cc:64 NCCL WARN Cuda failure 2 'out of memory'",
        "failed to allocate 32.00M from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory"}) {
    INFO(line);
    CHECK(failure_of(line) == Failure::gpu_memory);
  }
  for (const std::string line :
       {"slurmstepd: error: Detected 1 oom_kill event in StepId=440575.0. Some of the step tasks "
        "have been OOM Killed.",
        "slurmstepd: error: Detected 2 oom-kill event(s) in step 3756240.batch cgroup.",
        "0: slurmstepd-v100-2: error: StepId=13.0 exceeded memory limit (356782080 > 314572800), "
        "being killed",
        "srun: error: nid001277: tasks 1-3: Out Of Memory",
        "Out of memory: Killed process 4242 (orch-train) total-vm:1024kB",
        "Memory cgroup out of memory: Killed process 4242 (python)",
        "terminate called after throwing an instance of 'std::bad_alloc'",
        "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't "
        "allocate memory: you tried to allocate 4294967296 bytes.",
        "OSError: [Errno 12] Cannot allocate memory"}) {
    INFO(line);
    CHECK(failure_of(line) == Failure::host_memory);
  }
  for (const std::string line :
       {"[E ProcessGroupNCCL.cpp:737] [Rank 1] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=469508, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1802212 ms",
        "RuntimeError: NCCL error in: ../ProcessGroupNCCL.cpp:1269, unhandled system error",
        "RuntimeError: NCCL Error 2: unhandled system error",
        "ncclSystemError: System call (e.g. socket, malloc) or external library call failed",
        "ncclInternalError: Internal check failed.",
        "ncclRemoteError: A call failed possibly due to a network error or a remote process",
        "ncclUnhandledCudaError: Call to CUDA function failed.",
        "n1:1:2 [0] NCCL WARN NET/IB : Got completion with error 12, opcode 0, len 0, vendor err "
        "129",
        "n1:1:2 [0] NCCL WARN NET/IB: Got completion from peer 10.0.0.1<52224> with status=12 "
        "opcode=129 len=0 vendor err 129 (Recv)"}) {
    INFO(line);
    CHECK(failure_of(line) == Failure::nccl);
  }
  for (const std::string line :
       {"RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "slurmstepd: error: *** JOB 123 ON a100-1 CANCELLED AT 2026-11-15T07:00:00 DUE TO NODE "
        "FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
        "NVRM: Xid (PCI:0000:03:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the "
        "bus.",
        "NVRM: Xid (PCI:0000:03:00): 48, pid=1234, An uncorrectable double bit error (DBE)"}) {
    INFO(line);
    CHECK(failure_of(line) == Failure::node);
  }
}

TEST_CASE("what only looks like a failure is none", "[app][log]") {
  for (const std::string line :
       {"export NCCL_ASYNC_ERROR_HANDLING=1", "TORCH_NCCL_ASYNC_ERROR_HANDLING=1",
        "n1:534:1763 [3] NCCL INFO NVLS comm 0x7f1928e6e060 headRank 3 nHeads 4",
        "checkpoint aXidB12 saved", "out of memory: no", "memory: 12 GB free",
        "NVRM: Xid (PCI:0000:03:00): 31, pid=1, Ch 00000008, MMU Fault",  // the program's fault
        "RuntimeError: CUDA error: unspecified launch failure",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "RuntimeError: NCCL error in: ../ProcessGroupNCCL.cpp:1691, invalid usage, NCCL version "
        "2.19.3",
        "Traceback (most recent call last):", ""}) {
    INFO(line);
    CHECK(failure_of(line) == Failure::none);
  }
  CHECK(confession_of("").failure == Failure::none);
  const Desk place;
  CHECK(read_confession(place.root()).failure == Failure::none);
}

TEST_CASE("the cause counts before the complaints of the other ranks", "[app][log]") {
  const std::string nccl = "[rank1] ncclRemoteError: a remote process exited\n";
  const std::string memory = "[rank0] CUDA out of memory. Tried to allocate 2 GiB\n";
  CHECK(confession_of(nccl + memory).failure == Failure::gpu_memory);
  CHECK(confession_of(memory + nccl).failure == Failure::gpu_memory);
  // If there are two causes, the first counts.
  CHECK(confession_of("oom_kill event\n" + memory).failure == Failure::host_memory);
  CHECK(confession_of(memory + "oom_kill event\n").failure == Failure::gpu_memory);
  CHECK(confession_of(nccl + "NCCL error: second\n").line ==
        "[rank1] ncclRemoteError: a remote "
        "process exited");
}

TEST_CASE("who blames the others is not believed before a log that knows", "[app][log]") {
  const std::string oom = "[rank1]: torch.cuda.OutOfMemoryError: CUDA out of memory.\n";
  for (const auto* kind : {"nccl", "bad_exit"}) {
    CHECK(confession_of(oom, failed(kind, "rank 1 did not take part")).failure ==
          Failure::gpu_memory);
    const auto alone = confession_of("nothing\n", failed(kind, "rank 1 did not take part"));
    CHECK(alone.line == "rank 1 did not take part");
  }
}

TEST_CASE("a trainer that knows why it failed is believed before its log", "[app][log]") {
  const auto said = confession_of("ncclUnhandledCudaError: unhandled cuda error\n",
                                  failed("nan", "the loss is nan at step 4"));
  CHECK(said.failure == Failure::nan);
  CHECK(said.line == "the loss is nan at step 4");
}

TEST_CASE("a step that srun ends because a rank failed was not cancelled", "[app][log]") {
  const std::string nccl = "8: NCCL error: unhandled system error\n";
  const std::string cancelled = " CANCELLED AT 2026-11-17T05:54:03 ***\n";
  const auto step = "9: slurmstepd: error: *** STEP 13.0 ON a100-1" + cancelled;
  const auto job = "slurmstepd: error: *** JOB 13 ON a100-1" + cancelled;
  CHECK(confession_of(nccl + step).failure == Failure::nccl);
  CHECK(confession_of(nccl + step + job).failure == Failure::none);
  CHECK(confession_of(step).failure == Failure::none);
}

TEST_CASE("the line is cut and made printable", "[app][log]") {
  const auto plain = confession_of("one\n  \x1b[31mCUDA out of memory\x1b[0m\xff  \ntwo");
  CHECK(plain.line == "CUDA out of memory\\xff");
  CHECK(confession_of("Epoch 0: 6%\rEpoch 0: 7%\rCUDA out of memory\r\n").line ==
        "CUDA out of memory");
  std::string wide;
  for (int i = 0; i < 1000; ++i) wide += "é█";  // a progress bar of many bytes
  const auto cut = confession_of("CUDA out of memory" + wide + "\n");
  CHECK(cut.failure == Failure::gpu_memory);
  CHECK(cut.line.starts_with("CUDA out of memory"));
  CHECK(cut.line.size() < 220);
  CHECK(cut.line.find("\\x") == std::string::npos);  // no character was cut
  CHECK(cut.line.ends_with("…"));
  CHECK(confession_of("CUDA out of memory, and no line break").failure == Failure::gpu_memory);
}

TEST_CASE("lines of 100 MB and binary rubbish are survived", "[app][log]") {
  std::string rubbish;
  unsigned state = 1;
  while (rubbish.size() < (std::size_t{100} << 20))
    rubbish += static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  std::erase(rubbish, '\n');
  std::erase(rubbish, '\r');
  CHECK(confession_of(rubbish).failure == Failure::none);
  const auto confession = confession_of(rubbish + "\nstd::bad_alloc\n" + rubbish);
  CHECK(confession.failure == Failure::host_memory);
  CHECK(confession.line == "std::bad_alloc");
}

TEST_CASE("what is not a plain file confesses nothing", "[app][log]") {
  const Desk place;
  const auto path = place.root() / "stdout.log";
  fs::create_directory(path);
  CHECK(read_confession(place.root()).failure == Failure::none);
  fs::remove(path);
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(read_confession(place.root()).failure == Failure::none);
}

TEST_CASE("what comes after a failure does not take it back, but steps do", "[app][log]") {
  const std::string memory = "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB\n";
  const std::string network = "RuntimeError: NCCL Error 2: unhandled system error\n";
  for (const std::string good_bye :
       {"[rank0]:[W1117 ProcessGroupNCCL.cpp:1575] Warning: WARNING: destroy_process_group() was "
        "not "
        "called before program exit, which can leak resources.\n",
        "wandb: Synced 5 W&B file(s), 0 media file(s), 0 artifact file(s) and 0 other file(s)\n"}) {
    INFO(good_bye);
    CHECK(confession_of(memory + good_bye).failure == Failure::gpu_memory);
    CHECK(confession_of(network + good_bye).failure == Failure::nccl);
  }
  // While it saves, after its last step.
  CHECK(
      confession_of("[after training is done] datetime: 2022-03-01 10:00:00\n" + memory).failure ==
      Failure::gpu_memory);
  // The second start of one log.
  const auto step = [](int number) {
    return " iteration " + std::to_string(number) +
           "/ 100 | consumed samples: 8 | elapsed time per iteration (ms): 500.0 | learning rate: "
           "1.0E-04 | global batch size: 8 | lm loss: 9.1E+00 |\n";
  };
  const auto first = "using world size: 4, data-parallel-size: 4\n" + step(1) + step(2);
  CHECK(confession_of(first + "using world size: 4, data-parallel-size: 4\n" + memory).failure ==
        Failure::gpu_memory);
  CHECK(confession_of(first + memory + step(3) + step(4)).failure == Failure::none);
}

TEST_CASE("a program that dies before its first step says why", "[app][log]") {
  const Desk desk;
  desk.file("stdout.log",
            "orch: attempt 1, job 7, on n1\n"
            "0: Traceback (most recent call last):\n"
            "0:   File \"driver.py\", line 3, in <module>\n"
            "0:     import deepspeed\n"
            "0: ModuleNotFoundError: No module named 'deepspeed'\n"
            "orch: ending the ranks: rank 0: exited with code 1\n");
  CHECK(read_confession(desk.root()).failure == Failure::none);  // it may still run
  desk.file("status.json", kFailed);
  const auto sign = read_confession(desk.root());
  CHECK(sign.failure == Failure::bad_exit);
  CHECK(sign.line == "ModuleNotFoundError: No module named 'deepspeed'");
}

TEST_CASE("srun's word on a dead task gives way to the attempt's own message", "[app][log]") {
  const Desk desk;
  desk.file("stdout.log",
            "orch: attempt 1, job 7, on a100-1\n"
            "srun: error: a100-1: task 5: Exited with exit code 3\n"
            "orch: failed: a100-1: task 5: Exited with exit code 3; see stdout.log\n");
  desk.file("status.json", kFailed);
  CHECK(read_confession(desk.root()).failure == Failure::none);
}
