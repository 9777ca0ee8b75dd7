#include "core/run/store/sqlite.h"

namespace orch::store {

Statement::Statement(sqlite3* database, const std::string& sql) {
  sqlite3_stmt* handle = nullptr;
  code_ = sqlite3_prepare_v3(database, sql.c_str(), static_cast<int>(sql.size()),
                             SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
  handle_.reset(handle);
}

void Statement::note(int code) {
  if (code_ == SQLITE_OK) code_ = code;
}

Statement& Statement::bind(std::int64_t value) {
  note(sqlite3_bind_int64(handle_.get(), ++bound_, value));
  return *this;
}

Statement& Statement::bind(double value) {
  note(sqlite3_bind_double(handle_.get(), ++bound_, value));
  return *this;
}

Statement& Statement::bind(const std::string& text) {
  note(sqlite3_bind_text64(handle_.get(), ++bound_, text.data(), text.size(), SQLITE_STATIC,
                           SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind(const std::optional<double>& value) {
  if (value) return bind(*value);
  note(sqlite3_bind_null(handle_.get(), ++bound_));
  return *this;
}

int Statement::step() {
  if (code_ != SQLITE_OK) return code_;
  return sqlite3_step(handle_.get());
}

void Statement::reset() {
  sqlite3_reset(handle_.get());
  sqlite3_clear_bindings(handle_.get());
  bound_ = 0;
  if (handle_) code_ = SQLITE_OK;  // a value that could not be bound is forgotten with the rest
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL;
}

std::string Statement::text(int column) const {
  const auto* text = sqlite3_column_text(handle_.get(), column);
  const auto size = sqlite3_column_bytes(handle_.get(), column);
  if (!text) return {};
  return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(size)};
}

int Connection::open(const fs::path& file, int wait_ms) {
  sqlite3* handle = nullptr;
  // An absolute path is never taken for a URI.
  const int code = sqlite3_open_v2(fs::absolute(file).c_str(), &handle,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) return code;
  sqlite3_extended_result_codes(handle, 1);
  return sqlite3_busy_timeout(handle, wait_ms);
}

int Connection::execute(const std::string& sql) {
  return sqlite3_exec(get(), sql.c_str(), nullptr, nullptr, nullptr);
}

// "immediate": a transaction that begins with reading could not wait for others when it writes.
Transaction::Transaction(Connection& connection)
    : connection_(connection), begun_(connection.execute("BEGIN IMMEDIATE")) {}

Transaction::~Transaction() {
  if (begun_ == SQLITE_OK && !committed_) connection_.execute("ROLLBACK");
}

int Transaction::commit() {
  const int code = connection_.execute("COMMIT");
  committed_ = code == SQLITE_OK;
  return code;
}

}  // namespace orch::store
