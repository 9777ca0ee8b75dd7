// The values that a plug-in may pass, and the handling of invalid ones: passed here as a plug-in
// would, one flaw at a time.
#include "core/price/backend/collect.h"

#include "core/base/text.h"
#include "tests/test.h"

using namespace orch;

namespace collect_test {
namespace {

struct CollectedText {
  orch_schedule schedule{sizeof(orch_schedule), 0, 2, 4, 1, "bf16", 0};
  orch_op op{};
  double counts[2] = {3, 1};
  orch_stages stages{sizeof(orch_stages), 1, 0, 1, counts};
  orch_memory memory{};
  bool late_block = false, stages_twice = false;
  int times = 1;  // count of the memory item

  CollectedText() {
    op.struct_size = sizeof op;
    op.kind = ORCH_MEMORY;
    op.name = "norms";
    op.bytes = 8;
    op.forward = 1;
    memory.struct_size = sizeof memory;
    memory.name = "weights";
    memory.last = 1;
    memory.bytes = 100;
  }
};

// All reported flaws.
std::string flaws(const std::function<void(CollectedText&)>& change) {
  CollectedText said;
  change(said);
  backend::Work work;
  std::vector<Error> reasons;
  backend::Collector collector{&work, backend::WorkTexts::formulas, &reasons, nullptr};
  const auto sink = collector.sink();
  sink.schedule(sink.context, &said.schedule);
  sink.block(sink.context, "layer");
  sink.op(sink.context, &said.op);
  sink.stages(sink.context, &said.stages);
  if (said.stages_twice) sink.stages(sink.context, &said.stages);
  if (said.late_block) sink.block(sink.context, "head");
  for (int i = 0; i < said.times; ++i) sink.memory(sink.context, &said.memory);
  collector.finish();
  std::string all;
  for (const auto& reason : reasons) all += reason.fact + "\n";
  return all;
}

}  // namespace

TEST_CASE("what makes sense is taken", "[backend]") {
  CHECK(flaws([](CollectedText&) {}).empty());
}

TEST_CASE("each piece of nonsense of a plug-in is refused by name", "[backend]") {
  const auto check = [](const char* fact, const std::function<void(CollectedText&)>& change) {
    const auto found = flaws(change);
    INFO(found);
    CHECK(found.find(fact) != std::string::npos);
  };
  check("an item of memory is of stages 0 to 2, and there are 2",
        [](CollectedText& said) { said.memory.last = 2; });
  check("has -1 bytes", [](CollectedText& said) { said.memory.bytes = -1; });
  check("has nan bytes", [](CollectedText& said) { said.memory.bytes = std::nan(""); });
  check("an item of memory of 0 bytes", [](CollectedText& said) { said.memory.struct_size = 0; });
  check("more than 1000000 items of memory", [](CollectedText& said) { said.times = 1'000'001; });
  check("a block comes after the stages that count it",
        [](CollectedText& said) { said.late_block = true; });
  check("stages 0 to 1 are given twice", [](CollectedText& said) { said.stages_twice = true; });
  check("the work of stage 0 of 2 is missing", [](CollectedText& said) { said.stages.last = 5; });
  check("stages of 0 bytes", [](CollectedText& said) { said.stages.struct_size = 0; });
  check("counted an invalid number of times", [](CollectedText& said) { said.counts[0] = -3; });
  check("a schedule in 'float'", [](CollectedText& said) { said.schedule.dtype = "float"; });
  check("a schedule of 1000000000000 stages",
        [](CollectedText& said) { said.schedule.stages = 1'000'000'000'000; });
  check("a schedule of 0 bytes", [](CollectedText& said) { said.schedule.struct_size = 0; });
  check("'norms' has invalid amounts", [](CollectedText& said) { said.op.forward = INFINITY; });
  check("'norms' has invalid amounts", [](CollectedText& said) { said.op.group_size = -4; });
  check("an operation of 4 bytes", [](CollectedText& said) { said.op.struct_size = 4; });
}

}  // namespace collect_test
