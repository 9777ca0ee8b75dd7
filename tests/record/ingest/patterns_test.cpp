#include "core/record/named_text.h"
#include "tests/record/ingest/logs.h"
#include "tests/test.h"

namespace orch::ingest {
namespace {

std::string errors_of(std::string_view lua) {
  const LogFolder folder;
  const auto patterns = Patterns::load({folder.write("mine.lua", lua)});
  return patterns ? "" : text(patterns.error());
}

bool says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("the shipped patterns are sound, each by itself and all together", "[ingest][patterns]") {
  for (const auto& file : fs::directory_iterator(fs::path(ORCH_SOURCE_DIR) / "templates/logs")) {
    if (file.path().extension() != ".lua") continue;
    const auto patterns = Patterns::load({file.path()});
    INFO((patterns ? std::string() : text(patterns.error())));
    CHECK(patterns.has_value());
  }
  shipped();
}

TEST_CASE("every mistake of a pattern file is told, with its place", "[ingest][patterns]") {
  const auto errors = errors_of(R"lua(return {
    framwork = "mine",
    fields = { { name = "step", begins = "it {stepp}", kind = "steps", keys = { x = "lss" } } },
    lines = {
      { name = "bad", has = "ab", match = "(unclosed", failure = "oom" },
      { name = "group", has = "abc", match = "(?<los>x)", scale = { loss = 2 } },
      { name = "set", has = "abc", set = { zero_stage = "many" } },
    },
    records = { { name = "rows", form = "tsv", needs = "step", keys = { x = "loss" } } },
  })lua");
  INFO(errors);
  CHECK(says(errors, "mine.lua: framwork: no such field"));
  CHECK(says(errors, "did you mean 'framework'?"));
  CHECK(says(errors, "fields[1] (step).begins: nothing is called 'stepp'"));
  CHECK(says(errors, "fields[1] (step).kind: no kind 'steps'"));
  CHECK(says(errors, "fields[1] (step).keys['x']: nothing is called 'lss'"));
  CHECK(says(errors, "lines[1] (bad).has: shorter than three characters"));
  CHECK(says(errors, "lines[1] (bad).match: missing"));
  CHECK(says(errors, "lines[2] (group).match: nothing is called 'los'"));
  CHECK(says(errors, "lines[2] (group).scale.loss: the expression has no group"));
  CHECK(says(errors, "lines[3] (set).set.zero_stage: 'many' is not a value"));
  CHECK(says(errors, "records[1] (rows).form: no form 'tsv'"));
  CHECK(says(errors, "records[1] (rows).needs: a string is not a list"));
}

TEST_CASE("an object is read as JSON and as Python write one", "[ingest][records]") {
  std::vector<record::NamedText> out;
  const auto text_of = [&](std::string_view line) {
    if (!record::read_object(line, out)) return std::string("none");
    std::string text;
    for (const auto& [name, value] : out) text += name + "=" + std::string(value) + ";";
    return text;
  };
  CHECK(text_of(R"({"step": 1, "loss":2.5})") == "step=1;loss=2.5;");
  CHECK(text_of(R"(INFO {'lr': 1e-4, 'name': "it's", 'x': None})") == "lr=1e-4;name=it's;x=None;");
  CHECK(text_of(R"({"a": {"b": 1, "c": {"d": "}"}}, "e": [1, "]", {"f": 2}], "g": 3})") ==
        "a/b=1;a/c/d=};g=3;");
  CHECK(text_of("{}") == "");
  for (const char* bad :
       {"", "}", "{", "{\"a\": }", "{\"a\": 1", "{\"a\" 1}", "{a: 1}", "{\"a\": \"b}",
        "{\"a\": [1}", "{\"a\": 1} x }", "{\"a\": 1}, {\"b\": 2}"})
    CHECK(text_of(bad) == "none");
  CHECK(text_of(std::string(9, '{') + std::string(9, '}')) == "none");

  std::vector<std::string_view> cells;
  record::split_cells("a,\"b,c\",, d ", cells);
  CHECK(cells == std::vector<std::string_view>{"a", "b,c", "", "d"});
  record::split_cells("\"", cells);
  CHECK(cells == std::vector<std::string_view>{"\""});
}

TEST_CASE("what is no table, no Lua or no file is an error", "[ingest][patterns]") {
  CHECK(says(errors_of("return 3"), "returns a number, not a table"));
  CHECK(says(errors_of("return {"), "mine.lua:1"));
  CHECK(says(errors_of("while true do end"), "instructions"));
  CHECK_FALSE(Patterns::load({"/nowhere/at/all.lua"}).has_value());
}

TEST_CASE("the example of the README is a framework of one's own", "[ingest][patterns]") {
  const auto readme = *read_file(fs::path(ORCH_SOURCE_DIR) / "templates/logs/README.md");
  std::size_t from = 0;
  const auto block = [&](const std::string& mark) {
    const auto begin = readme.find("```" + mark + "\n", from) + mark.size() + 4;
    return readme.substr(begin, readme.find("```", begin) - begin);
  };
  const auto lines = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  CHECK(lines(block("lua")) < 25);
  const LogFolder folder;
  const auto patterns = shipped({folder.write("tiny.lua", block("lua"))});
  const auto found = ingest({folder.write("job.out", block("text")).string()}, patterns);
  REQUIRE(found.has_value());
  REQUIRE(found->runs.size() == 1);
  const auto& run = found->runs.front();
  CHECK(run.field_text("framework") == "tiny");
  CHECK(run.whole("gpus") == 8);
  CHECK(run.whole("layers") == 12);
  CHECK(run.field_text("dtype") == "bf16");
  CHECK(run.measured.steps == 4);
  CHECK(run.measured.steps_planned == 4);
  CHECK(run.measured.last_loss == 3.2);
  CHECK(run.measured.step_seconds->value == 0.51);
  CHECK(run.state == record::RunState::finished);

  from = readme.find("## A framework that tells rates");
  CHECK(lines(block("lua")) < 25);
  const auto rates = shipped({folder.write("tiny2.lua", block("lua"))});
  const auto other = ingest({folder.write("job2.out", block("text")).string()}, rates);
  REQUIRE(other->runs.size() == 1);
  CHECK(other->runs[0].field_text("framework") == "tiny2");
  CHECK(other->runs[0].measured.step_seconds->value == 4);
  CHECK(other->runs[0].measured.tokens_per_second == 32768);
  CHECK(other->runs[0].measured.last_loss == 9.4);
}

TEST_CASE("a user's rule goes before a shipped one", "[ingest][patterns]") {
  const LogFolder folder;
  const auto mine = folder.write("mine.lua", R"lua(return { framework = "mine", fields = { {
    begins = "iteration {step}/{steps_planned}", kind = "step", weight = 9, bar_at_end = true,
    keys = { ["elapsed time per iteration (ms)"] = "step_seconds" } } } })lua");
  const auto patterns = shipped({mine});
  const auto log = folder.write("log", iteration(1, 10, 7, 1) + iteration(2, 10, 8, 1));
  const auto found = ingest({log.string()}, patterns);
  REQUIRE(found->runs.size() == 1);
  CHECK(found->runs[0].field_text("framework") == "mine");
  CHECK(found->runs[0].measured.step_seconds->value == 8.0);
}

TEST_CASE("of two rules for a line the user's is believed", "[ingest][patterns]") {
  const LogFolder folder;
  const auto mine = folder.write("mine.lua", R"lua(return { lines = { {
    has = "using world size", weight = 6, match = "using world size: (?<nodes>\\d+)",
    set = { gpus = 7 } } } })lua");
  const auto log = folder.write("log",
                                "using world size: 64, data-parallel-size: 1, "
                                "tensor-model-parallel size: 1, pipeline-model-parallel size: 1\n");
  const auto found = ingest({log.string()}, shipped({mine}));
  REQUIRE(found->runs.size() == 1);
  CHECK(found->runs[0].whole("gpus") == 7);
  CHECK(found->runs[0].whole("nodes") == 64);
}

TEST_CASE("an expression that searches without end gives up", "[ingest][patterns]") {
  const LogFolder folder;
  const auto mine = folder.write("mine.lua", R"lua(return { lines = { {
    has = "aaa", match = "^(a+)+$", failure = "data" } } })lua");
  const auto patterns = Patterns::load({mine});
  REQUIRE(patterns.has_value());
  std::string text;
  for (int i = 0; i < 100; ++i) text += std::string(200, 'a') + "b\n";
  const auto found = ingest({folder.write("log", text).string()}, *patterns);
  REQUIRE(found.has_value());
  CHECK(found->runs.empty());
}

}  // namespace orch::ingest
