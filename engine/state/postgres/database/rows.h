// The rows that a statement has returned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "state/postgres/database/libpq.h"

namespace agent_graph::state::postgres {

class Rows;

// One row; valid as long as its Rows. Columns count from 0. Reading a column as another type than
// that of the statement is a bug and stops the process.
class Row {
 public:
  bool IsNull(int column) const;
  int64_t Bigint(int column) const;
  uint64_t Number(int column) const { return static_cast<uint64_t>(Bigint(column)); }
  int32_t Integer(int column) const;
  bool Bool(int column) const;
  // A null value is returned as an empty text.
  std::string_view Text(int column) const;
  std::string_view Bytes(int column) const { return Text(column); }
  std::string Uuid(int column) const;  // 32 hex digits

 private:
  friend class Rows;
  Row(const Libpq& libpq, const PGresult* result, int number)
      : libpq_(libpq), result_(result), number_(number) {}
  const char* Fixed(int column, int length) const;

  const Libpq& libpq_;
  const PGresult* result_;
  const int number_;
};

class Rows {
 public:
  Rows(const Libpq& libpq, PGresult* result);

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Row operator[](size_t number) const;
  // Number of rows that an INSERT, UPDATE or DELETE has changed.
  uint64_t changed() const { return changed_; }

 private:
  const Libpq* libpq_;
  std::shared_ptr<PGresult> result_;
  size_t size_ = 0;
  uint64_t changed_ = 0;
};

}  // namespace agent_graph::state::postgres
