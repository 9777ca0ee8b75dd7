#include "core/show/page/page.h"

#include "core/show/page/numbers.h"
#include "tests/show/page/fixtures.h"
#include "tests/test.h"

namespace orch::page::test {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t out = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++out;
  return out;
}

bool has_section(const std::string& html, const std::string& id) {
  const bool is_there = html.find("<section id=\"" + id + "\"") != std::string::npos;
  // The table of contents and the sections agree.
  CHECK(is_there == (html.find("<a href=\"#" + id + "\"") != std::string::npos));
  return is_there;
}

// The row of a run in the table.
std::string row_of(const std::string& html, const std::string& id) {
  const auto table = std::min(html.find("<table id=\"table\""), html.size());
  const auto at = html.find("<th scope=\"row\">" + id + "<", table);
  REQUIRE(at != std::string::npos);
  return html.substr(at, html.find("</tr>", at) - at);
}

Page of(const Record& record) {
  Page page;
  page.records = {record};
  return page;
}

TEST_CASE("text of runs never becomes markup, whichever field it is in", "[page]") {
  const auto page = html(hostile());
  CHECK(count(page, "<script") == 4);  // the charts, the chapters, two of ours
  CHECK(count(page, "</script") == 4);
  CHECK(count(page, "<img") == 0);
  CHECK(count(page, "alert(1)") > 20);  // and yet it is shown
  for (const char c : page)
    REQUIRE((static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t'));
  CHECK(page.find("\xff") == std::string::npos);
  CHECK(page.find("\xe2\x80\xae") == std::string::npos);  // would turn our own words around
  CHECK(page.find("\xe2\x80\xa8") == std::string::npos);
}

TEST_CASE("a text of a megabyte is cut", "[page]") {
  const auto page = html(hostile());
  CHECK(page.find(std::string(2001, 'x')) == std::string::npos);
  CHECK(page.find(std::string(1900, 'x') + "x") != std::string::npos);
  CHECK(page.find(std::string(257 * 1024, 'y')) == std::string::npos);
}

TEST_CASE("a cut never leaves half a character", "[page]") {
  auto run = described("r", {"ddp"});
  for (int more = 0; more < 4; ++more) {
    run.notes = std::string(static_cast<std::size_t>(more), 'a');
    for (int i = 0; i < 1000; ++i) run.notes += "\xe2\x82\xac";
    CHECK(html(of(run)).find("\\xe2") == std::string::npos);
  }
}

TEST_CASE("nothing is loaded from anywhere", "[page]") {
  for (const auto& page : {full(), hostile(), Page{}}) {
    const auto text = html(page);
    CHECK_THAT(text, ContainsSubstring("http-equiv=\"Content-Security-Policy\""));
    CHECK_THAT(text, ContainsSubstring("content=\"default-src 'none'; script-src 'sha256-"));
    // The name of SVG.
    CHECK(count(text, "http://") == count(text, "http://www.w3.org/"));
    CHECK(count(text, "https://") == 0);
  }
}

TEST_CASE("a section without data is left out", "[page]") {
  const std::vector<std::string> all{"runs", "rejected", "budget", "provenance"};
  const std::vector<std::pair<Page, std::vector<std::string>>> cases{
      {full(), all}, {Page{}, {}}, {plans(), {"runs", "provenance"}}};
  for (const auto& [page, wanted] : cases) {
    const auto text = html(page);
    std::vector<std::string> found;
    for (const auto& id : all)
      if (has_section(text, id)) found.push_back(id);
    CHECK(found == wanted);
  }
}

TEST_CASE("days per 100B tokens follow from the step and the batch where nobody says them",
          "[page]") {
  auto run = described("r", {"ddp", 8, 1, 1, 1, 512, 0});
  run.measured.step_seconds = statistics::Interval{10, 9.5, 10.5, 20};
  // 100e9 / (512 * 2048) * 10 / 86400 = 11.04; with 9.5 s 10.49, with 10.5 s 11.59.
  CHECK_THAT(row_of(html(of(run)), "r"), ContainsSubstring("11.04 <small>10.49–11.59</small>"));
  CHECK_THAT(row_of(html(of(run)), "r"), ContainsSubstring(">104,858<"));  // tokens per second
}

TEST_CASE("the error is that of the estimate against what was measured", "[page]") {
  auto run = described("r", {"ddp", 8, 1, 1, 1, 512, 0});
  estimate(run, 12, 50);
  measure(run, 10, 50);
  CHECK_THAT(row_of(html(of(run)), "r"), ContainsSubstring(">+20.0</td>"));
}

TEST_CASE("a number that is not one is missing, not zero", "[page]") {
  auto run = described("r", {"ddp", 8, 1, 1, 1, 512, 0});
  run.measured.step_seconds = statistics::Interval{NAN, {}, {}, 1};
  run.measured.peak_memory_bytes = INFINITY;
  run.measured.tokens_per_second = 0;
  const auto text = html(of(run));
  for (const auto* name : {"step", "memory", "tokens_per_second", "days"})
    CHECK(text.find("data-name=\"" + std::string(name) + "\"") == std::string::npos);
  CHECK(row_of(text, "r").find("nan") == std::string::npos);
}

TEST_CASE("TFLOPs of two conventions never share a column", "[page]") {
  const auto text = html(full());
  for (const auto* head :
       {"TFLOPs <small>measured, megatron<", "TFLOPs <small>measured, simple8<",
        "TFLOPs <small>estimated, megatron<", "TFLOPs <small>estimated, simple<"})
    CHECK(count(text, head) == 1);
  const auto row = row_of(text, "toy-1");
  CHECK_THAT(row, ContainsSubstring("data-v=\"131.5\"") && ContainsSubstring("data-v=\"120.25\""));
}

TEST_CASE("a doubt is told beside the number it is about", "[page]") {
  const auto text = html(full());
  const auto row = row_of(text, "toy-4");
  CHECK_THAT(row,
             ContainsSubstring(
                 "131.5 <abbr class=\"doubt\" tabindex=\"0\" title=\"doubtful: 131.5 TFLOPs do "
                 "not follow"));
  CHECK_THAT(row, ContainsSubstring("1 doubt</summary><p>131.5 TFLOPs do not follow"));
  // What we computed ourselves is not what is doubted.
  CHECK(count(row, "<abbr") == 1);
  CHECK(row_of(text, "toy-5").find("doubt") == std::string::npos);
}

TEST_CASE("a failure is told with its reason", "[page]") {
  CHECK_THAT(row_of(html(full()), "toy-9"),
             ContainsSubstring("failed: gpu memory</summary><p>CUDA out of memory."));
}

TEST_CASE("what all runs have in common is said once", "[page]") {
  const auto text = html(full());
  CHECK_THAT(text, ContainsSubstring("Model <b>gpt-199b</b>"));
  CHECK(text.find("data-name=\"model\"") == std::string::npos);
  CHECK_THAT(text, ContainsSubstring("data-name=\"gpus\""));
}

TEST_CASE("the best run is measured, not doubtful, and has its interval", "[page]") {
  auto page = full();
  // toy-5: 104 s per 1536 x 2048 tokens are 38.26 days; the interval is 1.5 % below, 2 % above.
  CHECK_THAT(html(page),
             ContainsSubstring("Fastest: toy-5, megatron on 384 GPUs: <strong>38.26 days"
                               "</strong> per 100B tokens measured (95 % interval "
                               "37.69 to 39.03)"));
  page.records[4].doubts = {{"unit", "step_seconds", "seconds or milliseconds?"}};
  // toy-4 with 112 s is doubtful as well, toy-3 only estimated: 110.16 s; then comes toy-2, 204 s.
  const auto text = html(page);
  CHECK_THAT(text, ContainsSubstring("Fastest: toy-2, megatron on 192 GPUs: <strong>75.06 days"));
  CHECK_THAT(text, ContainsSubstring("Not measured, and estimated to be faster: toy-3, megatron on "
                                     "384 GPUs: 40.53 days estimated"));
}

TEST_CASE("a run whose steps were timed counts, however it ended", "[page]") {
  auto page = ended();
  // first, 18 s for 512 x 2048 tokens: 100e9 / 1048576 * 18 / 86400 = 19.87 days.
  const auto text = html(page);
  CHECK_THAT(text, ContainsSubstring("Fastest: first, megatron on 8 GPUs: <strong>19.87 days"));
  CHECK_THAT(text, ContainsSubstring("But: 18 s where the same configuration has 30 (second)."));
  page.records.erase(page.records.begin() + 5, page.records.begin() + 7);  // first and second
  CHECK_THAT(html(page), ContainsSubstring("Fastest: limit, megatron on 8 GPUs"));
  CHECK(has_section(html(of(page.records[0])), "days"));
  CHECK(svg(of(page.records[0])).find("no run") == std::string::npos);
}

TEST_CASE("the picture says what it leaves out", "[page]") {
  CHECK_THAT(
      svg(ended()),
      ContainsSubstring("Left out: runs that ran out of memory (1) or are doubtful (1) or failed "
                        "before a step was timed (1)."));
  const auto nothing = svg(of(ended().records[3]));
  CHECK_THAT(nothing, ContainsSubstring("no run is left to show"));
  CHECK_THAT(nothing, ContainsSubstring("Left out: runs that ran out of memory (1)."));
}

TEST_CASE("a picture joins only runs of one configuration", "[page]") {
  const auto picture = svg(families());
  // 8 - 16 - 32 GPUs of megatron, 8 - 16 of ddp.
  CHECK(count(picture, "class=\"line\"") == 3);
}

TEST_CASE("a loss that became NaN is told in the table and beside the best run", "[page]") {
  auto run = described("r", {"ddp", 8, 1, 1, 1, 512, 0});
  measure(run, 10, 50);
  curve(run, 50, 2);
  run.measured.steps = 100;
  run.measured.nan_steps = 50;
  const auto text = html(of(run));
  CHECK_THAT(row_of(text, "r"),
             ContainsSubstring("<small>loss NaN in 50 of 100 steps, from step 51 on</small>"));
  CHECK_THAT(text, ContainsSubstring("Its loss is NaN in 50 of 100 steps, from step 51 on."));
  CHECK_THAT(text, ContainsSubstring("<b>1</b> with a loss of NaN"));
}

TEST_CASE("runs that do not say their model are no model", "[page]") {
  auto page = plans();
  std::erase_if(page.records[0].fields, [](const auto& field) { return field.name == "model"; });
  const auto text = html(page);
  CHECK_THAT(text, ContainsSubstring("</strong> with gpt-199b, estimated: plan-2"));
  CHECK_THAT(
      text, ContainsSubstring("</strong> of the runs whose model is not known, estimated: plan-0"));
  CHECK(text.find("Fastest:") == std::string::npos);
}

TEST_CASE("each model has a best run of its own", "[page]") {
  auto page = plans();
  page.records[0].set("model", std::string("gpt-1b"));
  const auto text = html(page);
  CHECK_THAT(text, ContainsSubstring("</strong> with gpt-1b, estimated: plan-0"));
  CHECK_THAT(text, ContainsSubstring("</strong> with gpt-199b, estimated: plan-2"));
}

TEST_CASE("rejected runs are grouped by reason, whatever its numbers", "[page]") {
  const auto text = html(full());
  CHECK_THAT(text,
             ContainsSubstring("<summary>2 runs: tensor_parallel: 96 heads on 5 ranks; make it"
                               " divide the heads</summary>"));
  CHECK_THAT(text, ContainsSubstring("<li>megatron-tp7: tensor_parallel: 96 heads on 7 ranks"));
  CHECK_THAT(text, ContainsSubstring("<summary>1 run: batch: 1536 sequences"));
}

TEST_CASE("the budget shows what is used and committed of the limit", "[page]") {
  const auto text = html(full());
  CHECK_THAT(text, ContainsSubstring("3,000,000 GPU-hours and 200 days"));
  CHECK_THAT(text, ContainsSubstring("412,345 GPU-hours"));
  CHECK_THAT(text, ContainsSubstring("14 % of the limit used, then 40 % committed"));
}

TEST_CASE("provenance names files, commits, versions, jobs and nodes", "[page]") {
  const auto text = html(full());
  const auto at = text.find("<section id=\"provenance\"");
  const auto section = text.substr(at, text.find("</section>", at) - at);
  for (const auto* part :
       {"experiments/200b.lua", "<dd>9ff58ce</dd>", "orch 0.6, torch 2.11", "4201", "r7i0n1",
        "orch report experiments/200b.lua", "2027-03-14 15:09", "name = &quot;200b&quot;"})
    CHECK_THAT(section, ContainsSubstring(part));
  // What the page says itself goes before what its records say.
  CHECK(section.find("0123abcd") == std::string::npos);
}

TEST_CASE("who has no scripts reads every run in full", "[page]") {
  const auto text = html(full());
  const auto at = text.find("<h3>Every run in full</h3>");
  REQUIRE(at != std::string::npos);
  const auto section = text.substr(at, text.find("</noscript>", at) - at);
  CHECK_THAT(section, ContainsSubstring("step 17: 829.5 s (2.10 × the median)"));
  CHECK_THAT(section, ContainsSubstring("<dt>recompute</dt><dd>full (assumed)</dd>"));
  CHECK_THAT(section, ContainsSubstring("<dt>no estimate</dt><dd>no profile of this GPU</dd>"));
}

TEST_CASE("the picture has a mark for the best of each strategy on so many GPUs", "[page]") {
  const auto picture = svg(full());
  // Measured and not doubtful: megatron on 96, 192 and 384 GPUs, deepspeed on 192 and 384, fsdp on
  // 384.
  CHECK(count(picture, "class=\"measured\" transform") == 6);
  // Estimated: deepspeed on 96 as well; fsdp on 192 failed.
  CHECK(count(picture, "class=\"estimated\" transform") == 7);
  CHECK_THAT(picture,
             ContainsSubstring("toy-5: 38.26 (37.69 to 39.03) days per 100B tokens, measured"));
  // All of same_size() have as many GPUs: the 20 best runs, run-0 to run-19 in some order, of which
  // 1, 5, 9, 13 and 17 were measured.
  const auto ranking = svg(same_size());
  CHECK(count(ranking, "class=\"estimated\" transform") == 20);
  CHECK(count(ranking, "class=\"measured\" transform") == 5);
  CHECK_THAT(svg({}), ContainsSubstring("no run has days per 100B tokens"));
  CHECK(count(svg(hostile()), "<script") == 0);
}

TEST_CASE("the page begins with the answers", "[page]") {
  auto page = full();
  page.answers = {{"one", "fsdp is <best>.", "not very"}};
  const auto one = html(page);
  CHECK_THAT(one, ContainsSubstring("<p class=\"best\">fsdp is &lt;best&gt;.</p>"));
  CHECK(one.find("id=\"answer-1\"") < one.find("id=\"best\""));
  CHECK(one.find("id=\"best\"") < one.find("id=\"charts\""));
  CHECK(one.find("id=\"charts\"") < one.find("id=\"table\""));
  CHECK(count(one, "<li><a href=\"#answer-") == 0);
  page.answers.push_back({"two", "ddp is.", ""});
  CHECK_THAT(html(page), ContainsSubstring("<li><a href=\"#answer-2\">two</a></li>"));
}

TEST_CASE(
    "runs of one layout are named by what they differ in, and by a hash where that is nothing",
    "[page]") {
  Page page;
  for (const std::int64_t batch : {64, 128})
    page.records.push_back(described("gpt-ddp-8gpu-dp8-mb4-" + std::to_string(10000000 + batch),
                                     {"ddp", 8, 1, 1, 4, batch, 0}));
  auto text = html(page);
  CHECK_THAT(text, ContainsSubstring(">dp8 mb4 global_batch=64</th>") &&
                       ContainsSubstring(">dp8 mb4 global_batch=128</th>"));
  CHECK_THAT(text, ContainsSubstring("title=\"gpt-ddp-8gpu-dp8-mb4-10000064\""));
  page.records[1].set("global_batch", std::int64_t{64});
  page.records[1].set("accumulate", std::int64_t{2});
  text = html(page);
  CHECK_THAT(text, ContainsSubstring(">dp8 mb4 10000064</th>"));
  auto sharded = page;
  sharded.records[0].set("sharding", std::string("full"));
  sharded.records[1].set("sharding", std::string("hybrid"));
  CHECK_THAT(html(sharded), ContainsSubstring(">dp8 mb4 sharding=full</th>") &&
                                ContainsSubstring(">dp8 mb4 sharding=hybrid</th>"));
  // Those that the known settings tell apart keep their short names beside two that they do not.
  auto third = described("gpt-ddp-8gpu-dp8-mb4-10000003", {"ddp", 8, 1, 1, 4, 512, 0});
  third.set("prefetch", std::int64_t{2});
  sharded.records.push_back(third);
  CHECK_THAT(html(sharded), ContainsSubstring(">dp8 mb4 global_batch=512</th>") &&
                                ContainsSubstring(">dp8 mb4 global_batch=64, sharding=full</th>"));
  // The hash alone says that they differ: they are no repeats, unless an id says so.
  CHECK(text.find("<tr data-alike") == std::string::npos);
  page.records[1].id = "gpt-ddp-8gpu-dp8-mb4-r2-10000128";
  CHECK_THAT(html(page), ContainsSubstring("<tr data-alike=\"1\""));
}

TEST_CASE("runs that differ in versions or arguments are not repeats", "[page]") {
  Page page;
  for (const auto* id : {"gpt-ddp-8gpu-dp8-mb4-10000001", "gpt-ddp-8gpu-dp8-mb4-r2-10000002"})
    page.records.push_back(described(id, {"ddp", 8, 1, 1, 4, 64, 0}));
  const auto folded = [&] { return html(page).find("<tr data-alike") != std::string::npos; };
  CHECK(folded());
  page.records[1].arguments = {{"overlap_grad_reduce", "True"}};
  CHECK_FALSE(folded());
  page.records[1].arguments.clear();
  page.records[1].origin.versions = {{"torch", "2.11"}};
  CHECK_FALSE(folded());
}

TEST_CASE("the best of each strategy stands above all, with its cost", "[page]") {
  const auto text = html(full());
  const auto from = text.find("id=\"best\""), to = text.find("</section>", from);
  const auto bests = text.substr(from, to - from);
  // toy-5, 38.26 days on 384 GPUs: 38.26 * 24 * 384 GPU-hours for 100B tokens.
  CHECK_THAT(bests, ContainsSubstring(">38.26</td>") && ContainsSubstring(">37.69–39.03</td>") &&
                        ContainsSubstring("352,6"));
}

TEST_CASE("the first screen has failures and money where they are known", "[page]") {
  auto run = described("r", {"ddp", 384, 1, 1, 1, 768, 0});
  estimate(run, 100, 60);
  run.estimated->days_to_train = 100;
  run.estimated->gpu_hours = 921'600;
  CHECK_THAT(html(of(run)), ContainsSubstring("100 days to train, 921,600 GPU-hours<"));
  run.estimated->interruptions = 18;
  run.estimated->days_with_failures = 103;
  run.estimated->cost = 1.9e6;
  run.estimated->currency = "E<R";
  CHECK_THAT(html(of(run)), ContainsSubstring("100 days to train, 103 with failures, 921,600 "
                                              "GPU-hours, 1,900,000 E&lt;R<"));
}

TEST_CASE("of many models those that were measured come first, the fastest before the others",
          "[page]") {
  Page page;
  for (int i = 0; i < 6; ++i) {
    auto run = described("r" + std::to_string(i), {"megatron", 8, 1, 1, 1, 512, 0});
    run.set("model", "m" + std::to_string(i));
    if (i == 5)
      estimate(run, 1, 40);  // the fewest days of all, and nobody ran it
    else
      measure(run, 100 - 10 * i, 40);
    page.records.push_back(run);
  }
  const auto text = html(page);
  const auto head = text.substr(0, text.find("</header>"));
  const auto place = [&](const std::string& id) { return head.find(": " + id + ", "); };
  CHECK(place("r4") < place("r3"));
  CHECK(place("r1") != std::string::npos);
  CHECK(place("r0") == std::string::npos);
  CHECK(place("r5") == std::string::npos);
  const auto bests = text.substr(text.find("id=\"best\""));
  CHECK(bests.find(">r4</td>") < bests.find(">r0</td>"));
  CHECK(bests.find(">r0</td>") < bests.find(">r5</td>"));
}

TEST_CASE("of too many runs the page has those that ran and the best of each", "[page]") {
  Page page;
  const auto add = [&](const std::string& id, const std::string& strategy, double step) -> Record& {
    auto& run = page.records.emplace_back();
    run.id = id;
    run.set("strategy", strategy);
    run.set("model", std::string("m"));
    run.set("global_batch", std::int64_t{512});
    run.set("seq", std::int64_t{2048});
    estimate(run, step, 40);
    run.estimated->time.clear();
    return run;
  };
  for (int i = 0; i < 1999; ++i) add("fast" + std::to_string(i), "fast", 1 + 0.001 * i);
  add("slowest", "slow", 100);
  add("slow", "slow", 50);
  add("ran", "slow", 200).state = record::RunState::failed;
  const auto text = html(page);
  CHECK_THAT(text, ContainsSubstring("2,000 of 2,002 runs are on this page") &&
                       ContainsSubstring("--format csv</code> lists all"));
  const auto table = text.substr(text.find("<table id=\"table\""));
  const auto rows = table.substr(0, table.find("</table>"));
  CHECK(count(rows, "<th scope=\"row\">") == kMostRuns);
  for (const auto* id : {"fast0", "fast1996", "slow", "slowest", "ran"}) row_of(rows, id);
  for (const auto* id : {"fast1997", "fast1998"})
    CHECK(rows.find(">" + std::string(id) + "<") == std::string::npos);
}

TEST_CASE("a page that is watched loads itself again", "[page]") {
  auto page = full();
  CHECK(html(page).find("http-equiv=\"refresh\"") == std::string::npos);
  page.refresh_seconds = 30;
  CHECK_THAT(html(page), ContainsSubstring("<meta http-equiv=\"refresh\" content=\"30\">"));
}

TEST_CASE("sizes that differ in how they are counted are one model", "[page]") {
  record::Record a, b;
  a.set("params", 52e9);
  b.set("params", 52.01e9);
  CHECK(model_of(a) == "52B");
  CHECK(model_of(b) == model_of(a));
}

}  // namespace
}  // namespace orch::page::test
