#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>

#include "tests/place.h"
#include "core/base/text.h"
#include "core/record/events/collect.h"

using namespace orch;
using namespace orch::events;
using record::Symptom;

namespace {

record::Confession confession_of(const std::string& log) {
  const Place place;
  place.file("stdout.log", log);
  return read_confession(place.root());
}

Symptom symptom_of(const std::string& line) {
  const auto confession = confession_of("loading data\nstep 1 loss 11.2\n" + line + "\nbye\n");
  CHECK((confession.symptom == Symptom::none) == confession.line.empty());
  return confession.symptom;
}

}  // namespace

// Lines as PyTorch, NCCL, slurmstepd, srun and the NVIDIA driver write them.
TEST_CASE("known failures are recognised by the lines that tell of them", "[collect][log]") {
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
    CHECK(symptom_of(line) == Symptom::gpu_memory);
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
    CHECK(symptom_of(line) == Symptom::host_memory);
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
    CHECK(symptom_of(line) == Symptom::nccl);
  }
  for (const std::string line :
       {"RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "slurmstepd: error: *** JOB 123 ON a100-1 CANCELLED AT 2026-11-15T07:00:00 DUE TO NODE "
        "FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
        "NVRM: Xid (PCI:0000:03:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the "
        "bus.",
        "NVRM: Xid (PCI:0000:03:00): 48, pid=1234, An uncorrectable double bit error (DBE)"}) {
    INFO(line);
    CHECK(symptom_of(line) == Symptom::node);
  }
}

TEST_CASE("what only looks like a failure is none", "[collect][log]") {
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
    CHECK(symptom_of(line) == Symptom::none);
  }
  CHECK(confession_of("").symptom == Symptom::none);
  const Place place;
  CHECK(read_confession(place.root()).symptom == Symptom::none);
}

TEST_CASE("the cause counts before the complaints of the other ranks", "[collect][log]") {
  const std::string nccl = "[rank1] ncclRemoteError: a remote process exited\n";
  const std::string memory = "[rank0] CUDA out of memory. Tried to allocate 2 GiB\n";
  CHECK(confession_of(nccl + memory).symptom == Symptom::gpu_memory);
  CHECK(confession_of(memory + nccl).symptom == Symptom::gpu_memory);
  // Of two causes the first.
  CHECK(confession_of("oom_kill event\n" + memory).symptom == Symptom::host_memory);
  CHECK(confession_of(memory + "oom_kill event\n").symptom == Symptom::gpu_memory);
  CHECK(confession_of(nccl + "NCCL error: second\n").line ==
        "[rank1] ncclRemoteError: a remote "
        "process exited");
}

TEST_CASE("the line is cut around what it says and made printable", "[collect][log]") {
  const auto plain = confession_of("one\n  \x1b[31mCUDA out of memory\x1b[0m\xff  \ntwo");
  CHECK(plain.line == "\\x1b[31mCUDA out of memory\\x1b[0m\\xff");
  CHECK(confession_of("Epoch 0: 6%\rEpoch 0: 7%\rCUDA out of memory\r\n").line ==
        "CUDA out of memory");
  std::string wide;
  for (int i = 0; i < 1000; ++i) wide += "é█";  // a progress bar of many bytes
  const auto cut = confession_of(wide + "CUDA out of memory" + wide + "\n");
  CHECK(cut.symptom == Symptom::gpu_memory);
  CHECK(cut.line.find("CUDA out of memory") != std::string::npos);
  CHECK(cut.line.size() < 220);
  CHECK(cut.line.find("\\x") == std::string::npos);  // no character was cut in two
  CHECK(cut.line.starts_with("…"));
  CHECK(cut.line.ends_with("…"));
}

TEST_CASE("a log of 10 GB is read at its two ends", "[collect][log]") {
  const Place place;
  const auto file = place.file("stdout.log", "CUDA out of memory at start-up\n");
  fs::resize_file(file, std::uintmax_t{10} << 30);  // sparse: zeros
  CHECK(read_confession(place.root()).line == "CUDA out of memory at start-up");
  std::ofstream(file, std::ios::app) << "\nncclSystemError: at the end";  // no line break
  const auto confession = read_confession(place.root());
  CHECK(confession.symptom == Symptom::nccl);
  CHECK(confession.line == "ncclSystemError: at the end");
}

TEST_CASE("lines of 100 MB and binary rubbish are survived", "[collect][log]") {
  std::string rubbish;
  unsigned state = 1;
  while (rubbish.size() < (std::size_t{100} << 20))
    rubbish += static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  std::erase(rubbish, '\n');
  std::erase(rubbish, '\r');
  CHECK(confession_of(rubbish).symptom == Symptom::none);
  const auto confession = confession_of(rubbish + "std::bad_alloc" + rubbish.substr(0, 100'000));
  CHECK(confession.symptom == Symptom::host_memory);
  CHECK(confession.line == printable(confession.line));
  CHECK(confession.line.size() < 1000);
}

TEST_CASE("what is not a plain file confesses nothing", "[collect][log]") {
  const Place place;
  const auto path = place.root() / "stdout.log";
  fs::create_directory(path);
  CHECK(read_confession(place.root()).symptom == Symptom::none);
  fs::remove(path);
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(read_confession(place.root()).symptom == Symptom::none);
}
