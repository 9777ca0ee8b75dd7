#include "core/run/store/index.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "core/base/descriptor.h"
#include "core/base/text.h"
#include "core/run/store/index_row.h"
#include "core/run/store/sqlite.h"

namespace orch::store {
namespace {

constexpr int kVersion = 4;  // of the table below
constexpr int kWaitMs = 20'000;

// Empty if files of this folder can be made and locked. Asked of a file of its own: closing one
// drops all the locks that this process has on it. SQLite itself takes a file system that cannot
// lock for one that is busy.
std::string cannot_lock(const fs::path& folder) {
  const auto path = folder / fmt::format(".index-probe-{}", ::getpid());
  ::unlink(path.c_str());
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.is_open()) return fmt::format("cannot make a file there: {}", std::strerror(errno));
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  const int error = ::fcntl(file.get(), F_SETLK, &lock) == 0 ? 0 : errno;
  ::unlink(path.c_str());
  if (error == 0) return {};
  return fmt::format("the file system cannot lock files: {}", std::strerror(error));
}

ino_t inode_of(const fs::path& file) {
  struct stat about = {};
  return ::stat(file.c_str(), &about) == 0 ? about.st_ino : 0;
}

bool is_damage(int code) {
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
    case SQLITE_ERROR:  // a table that is not ours
      return true;
    default:
      return false;
  }
}

}  // namespace

struct Index::Database {
  explicit Database(const fs::path& root) : file(root / "index.sqlite") {}

  void open();
  int connect();
  int make_table();
  int prepare();
  int insert(const std::vector<Row>& rows);
  // Notes a failure; the index is not used any more.
  void fail(int code);
  bool usable() const { return why.empty(); }

  fs::path file;
  ino_t inode = 0;  // of the file when it was opened: another process may have set it aside
  std::string why;
  Connection connection;
  Statement select, put, ids, forget;  // go before the connection
};

void Index::Database::open() {
  const auto root = file.parent_path();
  if (auto reason = cannot_lock(root.empty() ? "." : root); !reason.empty()) {
    why = printable(file.string()) + ": " + reason;
    return;
  }
  int code = connect();
  if (is_damage(code)) {
    fail(code);  // sets it aside
    why.clear();
    code = connect();
  }
  if (code != SQLITE_OK) fail(code);
}

int Index::Database::connect() {
  int code = connection.open(file, kWaitMs);
  inode = inode_of(file);
  // No write-ahead log: it needs memory that all processes share, and they may be on several hosts.
  for (const auto* sql : {"PRAGMA trusted_schema = OFF", "PRAGMA cell_size_check = ON",
                          "PRAGMA journal_mode = DELETE", "PRAGMA synchronous = NORMAL"})
    if (code == SQLITE_OK) code = connection.execute(sql);
  if (code == SQLITE_OK) code = make_table();
  return code == SQLITE_OK ? prepare() : code;
}

int Index::Database::make_table() {
  const auto has_version = [&](int& code) {
    Statement version(connection.get(), "PRAGMA user_version");
    code = version.step();
    return code == SQLITE_ROW && version.whole(0) == kVersion;
  };
  int code = SQLITE_OK;
  if (has_version(code)) return SQLITE_OK;
  if (code != SQLITE_ROW) return code;
  Transaction transaction(connection);
  if (transaction.begun() != SQLITE_OK) return transaction.begun();
  if (has_version(code)) return SQLITE_OK;  // another process was faster
  code = connection.execute(
      fmt::format("DROP TABLE IF EXISTS runs; CREATE TABLE runs ({}, PRIMARY KEY (experiment, id)) "
                  "WITHOUT ROWID; PRAGMA user_version = {}",
                  columns(), kVersion));
  return code == SQLITE_OK ? transaction.commit() : code;
}

int Index::Database::prepare() {
  auto* const to = connection.get();
  select = {to, "SELECT " + columns() + " FROM runs WHERE experiment = ? ORDER BY id"};
  put = {to, "REPLACE INTO runs (" + columns() + ") VALUES (" + placeholders() + ")"};
  ids = {to, "SELECT id FROM runs WHERE experiment = ?"};
  forget = {to, "DELETE FROM runs WHERE experiment = ? AND id = ?"};
  for (const auto* statement : {&select, &put, &ids, &forget})
    if (statement->prepared() != SQLITE_OK) return statement->prepared();
  return SQLITE_OK;
}

void Index::Database::fail(int code) {
  why = fmt::format("{}: {}", printable(file.string()), sqlite3_errstr(code));
  if ((code & 0xff) == SQLITE_BUSY) why += " (another orch keeps it busy)";
  for (auto* statement : {&select, &put, &ids, &forget}) *statement = Statement();
  connection.close();
  if (!is_damage(code) || inode_of(file) != inode) return;
  // The journal first: it must never be taken for that of a new file.
  std::error_code ignored;
  const auto journal = file.string() + "-journal";
  fs::rename(journal, journal + ".damaged", ignored);
  fs::rename(file, file.string() + ".damaged", ignored);
}

int Index::Database::insert(const std::vector<Row>& rows) {
  for (const auto& row : rows) {
    const int code = step_with(put, row);
    if (code != SQLITE_DONE) return code;
  }
  return SQLITE_OK;
}

Index::Index(std::unique_ptr<Database> database) : database_(std::move(database)) {}
Index::Index(Index&&) noexcept = default;
Index& Index::operator=(Index&&) noexcept = default;
Index::~Index() = default;

Index Index::open(const fs::path& root) {
  auto database = std::make_unique<Database>(root);
  database->open();
  return Index(std::move(database));
}

bool Index::available() const { return database_->usable(); }
const std::string& Index::why() const { return database_->why; }

std::vector<Index::Row> Index::rows(const std::string& experiment) {
  std::vector<Row> rows;
  if (!available()) return rows;
  auto& select = database_->select;
  select.bind(experiment);
  int code = SQLITE_OK;
  while ((code = select.step()) == SQLITE_ROW) rows.push_back(read_row(select));
  select.reset();
  if (code == SQLITE_DONE) return rows;
  database_->fail(code);
  return {};
}

void Index::put(const std::vector<Row>& rows) {
  if (!available() || rows.empty()) return;
  int code = SQLITE_OK;
  {
    Transaction transaction(database_->connection);
    code = transaction.begun();
    if (code == SQLITE_OK) code = database_->insert(rows);
    if (code == SQLITE_OK) code = transaction.commit();
  }
  if (code != SQLITE_OK) database_->fail(code);
}

void Index::replace_all(const std::vector<Row>& rows) {
  if (!available()) return;
  int code = SQLITE_OK;
  {
    Transaction transaction(database_->connection);
    code = transaction.begun();
    if (code == SQLITE_OK) code = database_->connection.execute("DELETE FROM runs");
    if (code == SQLITE_OK) code = database_->insert(rows);
    if (code == SQLITE_OK) code = transaction.commit();
  }
  if (code != SQLITE_OK) database_->fail(code);
}

void Index::keep_only(const std::string& experiment, const std::vector<std::string>& ids) {
  if (!available()) return;
  const std::set<std::string> kept(ids.begin(), ids.end());
  std::vector<std::string> gone;
  auto& known = database_->ids;
  known.bind(experiment);
  int code = SQLITE_OK;
  while ((code = known.step()) == SQLITE_ROW)
    if (auto id = known.text(0); !kept.contains(id)) gone.push_back(std::move(id));
  known.reset();
  if (code == SQLITE_DONE && gone.empty()) return;
  if (code == SQLITE_DONE) {
    Transaction transaction(database_->connection);
    code = transaction.begun();
    for (const auto& id : gone) {
      if (code != SQLITE_OK) break;
      const int done = database_->forget.bind(experiment).bind(id).step();
      database_->forget.reset();
      code = done == SQLITE_DONE ? SQLITE_OK : done;
    }
    if (code == SQLITE_OK) code = transaction.commit();
  }
  if (code != SQLITE_OK) database_->fail(code);
}

}  // namespace orch::store
