#include "state/postgres/database/rows.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/hex.h"

namespace agent_graph::state::postgres {
namespace {

template <typename T>
T FromBigEndian(const char* bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return static_cast<T>(value);
}

}  // namespace

const char* Row::Fixed(int column, int length) const {
  AG_CHECK(libpq_.PQgetlength(result_, number_, column) == length,
           "a column is read as the type that its statement returns");
  return libpq_.PQgetvalue(result_, number_, column);
}

bool Row::IsNull(int column) const {
  return libpq_.PQgetisnull(result_, number_, column) != 0;
}

int64_t Row::Bigint(int column) const {
  return FromBigEndian<int64_t>(Fixed(column, sizeof(int64_t)));
}

int32_t Row::Integer(int column) const {
  return FromBigEndian<int32_t>(Fixed(column, sizeof(int32_t)));
}

bool Row::Bool(int column) const {
  return *Fixed(column, 1) != 0;
}

std::string_view Row::Text(int column) const {
  return {libpq_.PQgetvalue(result_, number_, column),
          static_cast<size_t>(libpq_.PQgetlength(result_, number_, column))};
}

std::string Row::Uuid(int column) const {
  constexpr int kBytes = 16;
  return Hex(Fixed(column, kBytes), kBytes);
}

Rows::Rows(const Libpq& libpq, PGresult* result)
    : libpq_(&libpq),
      result_(result, libpq.PQclear),
      size_(static_cast<size_t>(libpq.PQntuples(result))),
      changed_(strtoull(libpq.PQcmdTuples(result), nullptr, 10)) {}

Row Rows::operator[](size_t number) const {
  AG_CHECK(number < size_, "a row is read that the statement has returned");
  return {*libpq_, result_.get(), static_cast<int>(number)};
}

}  // namespace agent_graph::state::postgres
