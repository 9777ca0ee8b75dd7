#include "core/plan/script/shell_script.h"

#include "tests/test.h"

using namespace orch;
using plan::read_shell_script;
using Words = std::vector<std::string>;

namespace {

Words words_of(std::string_view text, const std::map<std::string, std::string>& variables = {}) {
  const auto script = read_shell_script(text, variables);
  return script.commands.empty() ? Words{} : script.commands.back().words;
}

}  // namespace

TEST_CASE("quotes, continuations and variables are read as bash reads them", "[plan][script]") {
  CHECK(words_of("a 'b c' \"d $X\" e\\ f", {{"X", "1 2"}}) == Words{"a", "b c", "d 1 2", "e f"});
  CHECK(words_of("N=4\nrun --n $N \\\n  --m ${N}x # rest") ==
        Words{"run", "--n", "4", "--m", "4x"});
  CHECK(words_of("A=\" --x 1 \\\n --y '2 3' \"\nrun $A end") ==
        Words{"run", "--x", "1", "--y", "'2", "3'", "end"});
  CHECK(words_of("A=''\nrun '' $A \"$A\" z") == Words{"run", "", "", "z"});
  CHECK(words_of("A=1 A+=2\nrun $A") == Words{"run", "12"});
  CHECK(words_of("a\v\f\r b") == Words{"a", "b"});
  CHECK(words_of("run ${A:-7} ${B:+x} ${C:-$D}", {{"D", "d"}}) == Words{"run", "7", "d"});
}

TEST_CASE("lists of arguments become words", "[plan][script]") {
  CHECK(words_of("A=(\n  --x 1 # one\n  --y 'a b'\n)\nA+=( --z )\nrun \"${A[@]}\" end") ==
        Words{"run", "--x", "1", "--y", "a b", "--z", "end"});
  CHECK(words_of("A=(--x 1)\nrun ${A[@]}") == Words{"run", "--x", "1"});
}

TEST_CASE("arithmetic is computed, and what cannot be known stays as it is", "[plan][script]") {
  CHECK(words_of("N=2\nG=8\nrun $((N*$G + (4 - 2)/2)) $((1/0)) $((X+1))") ==
        Words{"run", "17", "$((1/0))", "$((X+1))"});
  CHECK(words_of("run $UNSET ${UNSET} $(date +%s) `pwd`/x $1") ==
        Words{"run", "$UNSET", "${UNSET}", "$(date +%s)", "`pwd`/x", "$1"});
}

TEST_CASE("the text of bash -c counts as commands behind the words before it", "[plan][script]") {
  CHECK(words_of(
            "CMD=\"train.py --a 'x|y'\"\nsrun -n 4 bash -c \"python $CMD --r \\$SLURM_PROCID\"") ==
        Words{"srun", "-n", "4", "python", "train.py", "--a", "x|y", "--r", "$SLURM_PROCID"});
  CHECK(words_of("CMD=\"train.py --n 1\"\nsrun bash -c '$CMD'") ==
        Words{"srun", "train.py", "--n", "1"});
  CHECK(words_of("eval \"run 'a b'\"") == Words{"run", "a b"});
}

TEST_CASE("here-documents and echo write files, with variables filled in", "[plan][script]") {
  const auto script = read_shell_script(
      "N=3\nF=./ds.json\ncat <<END > $F\n{\"stage\": $N}\nEND\n"
      "cat >plain.txt <<'END'\n$N\nEND\necho '{\"a\": 1}' > e.json\ncat <<-T | tee "
      "t.json\n\tx\n\tT\nrun");
  CHECK(script.files.at("./ds.json") == "{\"stage\": 3}\n");
  CHECK(script.files.at("plain.txt") == "$N\n");
  CHECK(script.files.at("e.json") == "{\"a\": 1}\n");
  CHECK(script.files.at("t.json") == "x\n");
  CHECK(script.commands.back().words == Words{"run"});
}

TEST_CASE("commands know their line, their environment, and no operators", "[plan][script]") {
  const auto script = read_shell_script(
      "#!/bin/bash\n#SBATCH --nodes=2 # two\n#SBATCH -p gpu\nA=1 B=\"x y\" run --z 2>&1 >log | tee "
      "-a all; next && "
      "if [ -e x ]; then last; fi\n");
  CHECK(script.directives == Words{"--nodes=2", "-p", "gpu"});
  REQUIRE(script.commands.size() >= 4);
  CHECK(script.commands[0].words == Words{"run", "--z"});
  CHECK(script.commands[0].line == 4);
  CHECK(script.commands[0].environment.at("B") == "x y");
  CHECK(script.commands[2].words == Words{"next"});
  CHECK(script.commands.back().words == Words{"last"});
}

TEST_CASE("a variable that doubles itself does not fill the memory", "[plan][script]") {
  std::string text = "A=aaaaaaaa\n";
  for (int i = 0; i < 100; ++i) text += "A=\"$A$A\"\n";
  text += "eval \"$A\" # and again\n";
  const auto script =
      read_shell_script(text + std::string(2000, '(') + "$((" + std::string(3000, '('));
  CHECK(script.variables.at("A").size() < (std::size_t{1} << 26));
}
