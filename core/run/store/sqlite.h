#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/files.h"

// SQLite with owners and types; results stay SQLite's codes, SQLITE_OK and its kind.
namespace orch::store {

class Statement {
 public:
  Statement() = default;
  // A failed preparation gives a statement whose step() fails with its code.
  Statement(sqlite3* database, const std::string& sql);

  int prepared() const { return code_; }

  Statement& bind(std::int64_t value);
  Statement& bind(double value);
  Statement& bind(const std::string& text);  // must outlive the next step()
  Statement& bind(const std::optional<double>& value);

  int step();    // SQLITE_ROW, SQLITE_DONE or an error
  void reset();  // before the next use; forgets what was bound

  std::int64_t whole(int column) const { return sqlite3_column_int64(handle_.get(), column); }
  double number(int column) const { return sqlite3_column_double(handle_.get(), column); }
  bool is_null(int column) const;
  std::string text(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  void note(int code);

  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
  int bound_ = 0;
  int code_ = SQLITE_OK;  // of what came before the step
};

class Connection {
 public:
  // Makes the file if it is missing. Waits so long for others that write.
  int open(const fs::path& file, int wait_ms);
  int execute(const std::string& sql);
  void close() { handle_.reset(); }
  sqlite3* get() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };
  std::unique_ptr<sqlite3, Close> handle_;
};

// A transaction for writing; what is not committed is undone.
class Transaction {
 public:
  explicit Transaction(Connection& connection);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  int begun() const { return begun_; }  // SQLITE_OK, or why it could not begin
  int commit();

 private:
  Connection& connection_;
  int begun_;
  bool committed_ = false;
};

}  // namespace orch::store
