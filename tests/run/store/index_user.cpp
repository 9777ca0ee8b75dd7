// index_user ROOT: uses the index as orch does and says what it is like.
#include <cstdio>

#include "core/run/store/index.h"

int main(int count, char** words) {
  using orch::store::Index;
  if (count != 2) return 2;
  auto index = Index::open(words[1]);
  Index::Row row;
  row.facts.experiment = "x";
  row.facts.id = "a-1";
  index.put({row});
  const auto rows = index.rows("x").size();
  index.keep_only("x", {});
  std::printf("%s %zu %s\n", index.available() ? "available" : "unavailable", rows,
              index.why().c_str());
  return 0;
}
