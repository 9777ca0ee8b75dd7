#include "core/run/render/template.h"

#include "tests/run/render/run.h"

using namespace orch;
using namespace orch::render;

TEST_CASE("values come from the run, the phase, the job and orch", "[render]") {
  CHECK(rendered(
            "{{ run.id }} {{ run.stack }} {{ run.tensor_parallel }} {{ model.hidden }} "
            "{{ phase.gpus }} {{ phase.tasks_per_node }} {{ job.account }} {{ orch.trainers }} "
            "{{ settings.dtype }} {{ settings.sequence_parallel }} {{ settings.zero_stage }}\n") ==
        "gpt-12345678 orch-megatron 2 2048 8 4 six@a100 ../../bin bf16 true 1\n");
}

TEST_CASE("whole numbers are written as such", "[render]") {
  CHECK(rendered("{{ run.tokens }} {{ 7 / 2 }} {{ 8 / 2 }} {{ -3 }}\n") ==
        "300000000000 3.5 4 -3\n");
}

TEST_CASE("a value that does not exist is an error with a suggestion", "[render]") {
  CHECK(render_error("a\n{{ job.acount }}\n") ==
        Error{"t.sbatch:2", "no such name 'job.acount'", "did you mean 'account'?"});
  CHECK(render_error("{{ jobb.account }}\n") ==
        Error{"t.sbatch:1", "no such name 'jobb'", "did you mean 'job'?"});
  CHECK(render_error("\n% if job.qoss then\n% end\n").place == "t.sbatch:2");
  CHECK(render_error("{{ settings.not_given }}\n").fact == "no such name 'settings.not_given'");
}

TEST_CASE("nothing is never an empty text", "[render]") {
  CHECK(render_error("\n\n{{ nil }}\n") == Error{"t.sbatch:3", "{{ nil }} has no value", ""});
  CHECK(render_error("{{! job.options[9] }}\n").fact == "{{ job.options[9] }} has no value");
}

TEST_CASE("a table is not a value", "[render]") {
  CHECK(render_error("{{ job.options }}\n").fact == "{{ job.options }} is a table, not a value");
}

TEST_CASE("a line break cannot leave a comment or an SBATCH line", "[render]") {
  const std::string fact = "{{ 'a\\nrm -rf x' }} holds a control character";
  CHECK(render_error("# {{ 'a\\nrm -rf x' }}\n").fact == fact);
  CHECK(render_error("  #SBATCH --x={{! 'a\\nrm -rf x' }}\n").fact == fact);
  CHECK(rendered("x={{ 'a\\nb' }}\n") == "x='a\nb'\n");
}

TEST_CASE("a NUL character is refused", "[render]") {
  CHECK(contains(render_error("{{ 'a\\0b' }}\n").fact, "NUL"));
}

TEST_CASE("a global variable is refused, since it would reach the next script", "[render]") {
  CHECK(render_error("% count = 1\n") ==
        Error{"t.sbatch:1", "'count' is not declared", "write: local count = ..."});
}

TEST_CASE("what a template does to its values is gone at the next render", "[render]") {
  auto source = Template::parse("% job.account = job.account .. 'x'\n{{ job.account }}\n", "t");
  REQUIRE(source);
  const auto run = two_nodes();
  for (int i = 0; i < 3; ++i) {
    auto text = source->render(run, {plan::phases(run).front(), 1, 1}, context());
    REQUIRE(text);
    CHECK(*text == "six@a100x\n");
  }
}

TEST_CASE("a template that writes without end is stopped", "[render]") {
  CHECK(contains(render_error("% while true do\ntext\n% end\n").fact, "longer than 16 MiB"));
  CHECK(contains(render_error("% while true do\n% end\n").fact, "endless loop"));
}

TEST_CASE("a template that cannot be read is an error with its path", "[render]") {
  auto source = Template::load("/nowhere/t.sbatch");
  REQUIRE_FALSE(source);
  CHECK(contains(text(source.error()), "/nowhere/t.sbatch"));
}

TEST_CASE("every hostile value comes back from bash byte for byte", "[render]") {
  auto source = Template::parse(
      "value={{ job.environment.X }}\nprintf %s \"$value\"\n"
      "printf '|%s' {{ job.environment.X }}\n",
      "t");
  REQUIRE(source);
  auto run = two_nodes();
  const auto phase = plan::phases(run).front();
  for (const auto& value : hostile_strings()) {
    run.job.environment["X"] = value;
    auto script = source->render(run, {phase, 1, 1}, context());
    REQUIRE(script);
    const auto done = bash(*script);
    CHECK(done.exit_code == 0);
    CHECK(done.output == value + "|" + value);
  }
}

TEST_CASE("every byte but NUL survives quoting", "[render]") {
  std::string all;
  for (int c = 1; c < 256; ++c) all += static_cast<char>(c);
  auto source = Template::parse("printf %s {{ job.environment.X }}\n", "t");
  REQUIRE(source);
  auto run = two_nodes();
  run.job.environment["X"] = all;
  auto script = source->render(run, {plan::phases(run).front(), 1, 1}, context());
  REQUIRE(script);
  CHECK(bash(*script).output == all);
}
