#include "core/run/render/compile.h"

#include "tests/run/render/run.h"

using namespace orch;
using namespace orch::render;

TEST_CASE("text without marks is rendered as it is", "[render]") {
  for (const std::string text : {"", "a\nb\n", "a\n\n\nb\n", "\\n \"quoted\" 'x' \\\\\n",
                                 "caf\xc3\xa9 }} { } %\n", "\t\x01\x7f\n"})
    CHECK(rendered(text) == (text.empty() ? "\n" : text));
}

TEST_CASE("a last line without an end gets one", "[render]") { CHECK(rendered("a") == "a\n"); }

TEST_CASE("line ends of Windows do not reach bash", "[render]") {
  CHECK(rendered("a\r\n% local x = 1\r\n{{ x }}\r\n") == "a\n1\n");
}

TEST_CASE("a byte order mark does not reach bash", "[render]") {
  CHECK(rendered("\xef\xbb\xbf#!/bin/bash\n") == "#!/bin/bash\n");
}

TEST_CASE("statements choose and repeat lines", "[render]") {
  CHECK(rendered("% for i = 1, 3 do\n%   if i ~= 2 then\nline {{ i }}\n  % end\n% end\nlast\n") ==
        "line 1\nline 3\nlast\n");
}

TEST_CASE("a doubled percent sign is one at the start of a line", "[render]") {
  CHECK(rendered("%% a\n  %%%b\nc %% d\n") == "% a\n  %%b\nc %% d\n");
}

TEST_CASE("braces and quotes inside an expression do not end it", "[render]") {
  CHECK(rendered("{{ ({a = {b = 7}}).a.b }}{{ #'}}' }}{{ ({1,{2}})[2][1] }}\n") == "722\n");
  CHECK(rendered("{{ 'it\\'s }}' }}\n") == "'it'\\''s }}'\n");
}

TEST_CASE("an expression that does not end is an error with its line", "[render]") {
  CHECK(render_error("a\nb {{ run.id\nc }}\n") ==
        Error{"t.sbatch:2", "'{{' without '}}' on the same line", "end the expression with '}}'"});
}

TEST_CASE("every slip of the template is reported at once", "[render]") {
  auto source = Template::parse("{{ }}\nok\n{{! run.id\n", "t.sbatch");
  REQUIRE_FALSE(source);
  REQUIRE(source.error().size() == 2);
  CHECK(source.error()[0].place == "t.sbatch:1");
  CHECK(source.error()[1].place == "t.sbatch:3");
}

TEST_CASE("a slip in an expression is reported with it and its line", "[render]") {
  auto source = Template::parse("a\n{{ run. }}\n{{ 1 -- 2 }}\n", "t.sbatch");
  REQUIRE_FALSE(source);
  REQUIRE(source.error().size() == 2);
  CHECK(source.error()[0].place == "t.sbatch:2");
  CHECK(contains(source.error()[0].fact, "{{ run. }}: "));
  CHECK(source.error()[1].place == "t.sbatch:3");
}

TEST_CASE("a slip in a statement is reported with its line", "[render]") {
  CHECK(render_error("a\nb\n% if x the\nc\n% end\n").place == "t.sbatch:3");
  CHECK(contains(render_error("a\n% if true then\nb\n").fact, "'end' expected"));
}
