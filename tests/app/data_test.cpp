#include "tests/app/desk.h"

using namespace orch;
using app::Exit;

TEST_CASE("text becomes tokens, and what was built is shown", "[app][data]") {
  const Desk desk;
  app::DataBuildArguments build;
  build.inputs = {desk.file("a.txt", "hi\nyou\n").string(), desk.file("b.txt", "é").string()};
  build.output = (desk.root() / "two").string();
  const auto built = desk(app::data_build_command, build);
  REQUIRE(built.exit == Exit::ok);
  CHECK(built.has("2 documents, 11 tokens"));
  // The UTF-8 bytes, and each document's end-of-text token of the byte tokenizer.
  app::DataShowArguments show;
  show.prefix = build.output + ".idx";
  show.tokenizer = "byte";
  show.common.format = "json";
  const auto shown = desk(app::data_show_command, show).json()["data"];
  CHECK(shown["first_tokens"] == "104 105 10 121 111 117 10 256 195 169 256");
  CHECK(shown["documents"] == 2);
  CHECK(shown["dtype"] == "uint16");
  CHECK(shown["highest_token"] == 256);
  show.common.format = "table";
  CHECK(desk(app::data_show_command, show).has("(22 B of uint16)"));

  const auto again = desk(app::data_build_command, build);
  CHECK(again.exit == Exit::error);
  build.eod = "nobody";
  CHECK(desk(app::data_build_command, build).exit == Exit::usage);
  show.prefix = (desk.root() / "nothing").string();
  CHECK(desk(app::data_show_command, show).exit == Exit::error);
}

TEST_CASE("weights that are not there are neither exported nor imported", "[app][data]") {
  const Desk desk;
  app::ExportArguments out;
  out.from = desk.root().string();
  out.output = (desk.root() / "exported").string();
  const auto exported = desk(app::export_command, out);
  CHECK(exported.exit == Exit::error);
  CHECK(exported.notes_have("no complete checkpoint"));
  const auto imported =
      desk(app::import_command, app::ImportArguments{desk.root().string(), out.output});
  CHECK(imported.exit == Exit::error);
  CHECK(imported.notes_have("config.json"));
}
