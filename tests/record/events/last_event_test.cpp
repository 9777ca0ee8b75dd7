#include <catch2/catch_test_macros.hpp>

#include "core/record/events/collect.h"
#include "tests/place.h"
#include "tests/record/events/lines.h"

using namespace orch;
using namespace orch::events;
using record::Failure;

namespace {

record::FailureReport confession_of(const std::string& events) {
  const TestFolder place;
  place.file("events.jsonl", events);
  return read_failure(place.root());
}

std::string failed(const std::string& kind, const std::string& message) {
  return R"({"event":"failed","time":1,"class":")" + kind + R"(","message":")" + message + "\"}\n";
}

}  // namespace

TEST_CASE("bytes of a step are the growth of the attempt's count", "[collect][events]") {
  const TestFolder place;
  std::string events;
  for (int i = 11; i <= 20; ++i)  // resumed: the count begins again, the steps do not
    events += step(i, R"(,"communicated_bytes":)" + std::to_string(1000 * (i - 10)));
  place.file("events.jsonl", events);
  CHECK(read_progress(place.root(), 0)->measured.stated.at("communicated_bytes") == 1000);
  place.file("events.jsonl",
             step(10, R"(,"communicated_bytes":5000)") + step(20, R"(,"communicated_bytes":9000)"));
  CHECK(read_progress(place.root(), 0)->measured.stated.at("communicated_bytes") == 400);
  place.file("events.jsonl", step(1, R"(,"communicated_bytes":7)"));
  CHECK(read_progress(place.root(), 0)->measured.stated.at("communicated_bytes") == 7);
  place.file("events.jsonl", step(9, R"(,"communicated_bytes":7)"));  // of how many steps?
  CHECK_FALSE(read_progress(place.root(), 0)->measured.stated.contains("communicated_bytes"));
  place.file("events.jsonl", step(1, ""));
  CHECK_FALSE(read_progress(place.root(), 0)->measured.stated.contains("communicated_bytes"));
}

TEST_CASE("the last evaluation, norm and learning rate are the run's", "[collect][events]") {
  const TestFolder place;
  place.file("events.jsonl", step(1, R"(,"loss":9,"gradient_norm":3,"learning_rate":0.1)") +
                                 R"({"event":"evaluation","step":1,"loss":8.5})"
                                 "\n" +
                                 step(2, R"(,"loss":7,"gradient_norm":2,"learning_rate":0.2)") +
                                 R"({"event":"evaluation","step":2,"loss":7.5})"
                                 "\n");
  const auto progress = read_progress(place.root(), 0);
  REQUIRE(progress);
  CHECK(progress->measured.steps == 2);
  CHECK(progress->measured.last_loss == 7);
  CHECK(progress->measured.stated.at("evaluation_loss") == 7.5);
  CHECK(progress->measured.stated.at("gradient_norm") == 2);
  CHECK(progress->measured.stated.at("learning_rate") == 0.2);
}

TEST_CASE("looks at GPUs are no progress of a trainer that hangs", "[collect][events]") {
  const TestFolder place;
  const std::string trained = step(1, R"(,"time":100)") + step(2, R"(,"time":110)");
  const auto look = [](int time) {
    return R"({"event":"gpus","time":)" + std::to_string(time) + ",\"use\":1}\n";
  };
  place.file("events.jsonl", trained + look(120) + look(810));
  CHECK(read_progress(place.root(), 811)->age == 811 - 110);
  // A line of the trainer after them counts again, by when the file was written.
  place.file("events.jsonl", trained + look(120) + step(3, R"(,"time":130)"));
  CHECK(read_progress(place.root(), 811)->age == 0);
}

TEST_CASE("what the machine did meanwhile is of the last attempt that tells", "[collect][events]") {
  const TestFolder place;
  const auto machine = [](const std::string& rest) {
    return R"({"event":"machine","time":9)" + rest + "}\n";
  };
  place.file("1/events.jsonl", step(1, "") + machine(R"(,"others_share":0.5,"clock_mhz":1400)"));
  place.file("2/events.jsonl", step(2, "") + machine(R"(,"others_share":0.04,"clock_mhz":null)"));
  place.file("3/events.jsonl", step(3, ""));  // the run continues
  const auto attempt = [&](const char* number) { return place.root() / number; };
  const auto first = read_progress(attempt("1"), 0)->measured.stated;
  CHECK(first.at("others_share") == 0.5);
  CHECK(first.at("clock_mhz") == 1400);
  CHECK_FALSE(read_progress(attempt("3"), 0)->measured.stated.contains("others_share"));
  const auto all = read_history({attempt("1"), attempt("2"), attempt("3")}).measured;
  CHECK(all.steps == 3);
  CHECK(all.stated.at("others_share") == 0.04);
  CHECK_FALSE(all.stated.contains("clock_mhz"));
}

TEST_CASE("the last profile counts, and only what is a number in it", "[collect][events]") {
  const TestFolder place;
  record::Measurement found;
  CHECK_FALSE(read_profile(place.root(), found));
  place.file("events.jsonl",
             R"({"event":"profile","step":10,"time_items":{"QKV":1},"memory_items":{}})"
             "\n"
             R"({"event":"profile","step":20,"time_items":{"QKV":0.5,"MLP up":"x","\u001b[2J":2},)"
             R"("memory_items":{"weights":4096}})"
             "\n" +
                 step(21, "") + R"({"event":"profile","step":30,"time_it)");
  REQUIRE(read_profile(place.root(), found));
  REQUIRE(found.time_items.size() == 2);
  CHECK(found.time_items[1].name == "QKV");
  CHECK(found.time_items[1].amount == 0.5);
  CHECK(found.time_items[0].name.find('\033') == std::string::npos);
  REQUIRE(found.memory_items.size() == 1);
  CHECK(found.memory_items[0].name == "weights");
  CHECK(found.memory_items[0].amount == 4096);
}

TEST_CASE("a trainer that knows why it failed is believed", "[collect][events]") {
  const auto said = confession_of(step(3, "") + failed("nan", "the loss is nan at step 4"));
  CHECK(said.failure == Failure::nan);
  CHECK(said.line == "the loss is nan at step 4");
  CHECK(confession_of(failed("data", "a")).failure == Failure::data);
  CHECK(confession_of(failed("disk", "a")).failure == Failure::disk);
  CHECK(confession_of(failed("gpu_memory", "a")).failure == Failure::gpu_memory);
  CHECK(confession_of(failed("bad_exit", "a")).failure == Failure::bad_exit);
  CHECK(confession_of(failed("something new", "a")).failure == Failure::bad_exit);
  // A trainer cannot detect these itself.
  for (const auto* kind : {"preempted", "timeout", "hang", "lost", "refused", "none"})
    CHECK(confession_of(failed(kind, "a")).failure == Failure::bad_exit);
  CHECK(confession_of(step(3, "")).failure == Failure::none);
}

TEST_CASE("a message may hold any bytes and be of any length", "[collect][events]") {
  const auto hostile = confession_of(failed("data", "a\\u001b[2J\\nb" + std::string(5000, 'x')));
  CHECK(hostile.line.find('\033') == std::string::npos);
  CHECK(hostile.line.find('\n') == std::string::npos);
  CHECK(hostile.line.size() < 220);
}

TEST_CASE("a rank that knows the cause counts before those that lost it", "[collect][events]") {
  const auto data = failed("data", "token 7 of sample 3"), lost = failed("nccl", "rank 2 failed");
  CHECK(confession_of(data + lost).failure == Failure::data);
  CHECK(confession_of(lost + data + lost).line == "token 7 of sample 3");
  CHECK(confession_of(lost).failure == Failure::nccl);
}
