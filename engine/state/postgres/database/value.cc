#include "state/postgres/database/value.h"

#include "base/hex.h"
#include "base/utf8.h"

namespace agent_graph::state::postgres {
namespace {

// OIDs of PostgreSQL's types, which never change.
constexpr uint32_t kBool = 16;
constexpr uint32_t kBytea = 17;
constexpr uint32_t kInt8 = 20;
constexpr uint32_t kInt4 = 23;
constexpr uint32_t kText = 25;
constexpr uint32_t kByteaArray = 1001;
constexpr uint32_t kTextArray = 1009;
constexpr uint32_t kInt8Array = 1016;
constexpr uint32_t kUuid = 2950;

template <typename T>
void AppendBigEndian(T value, std::string& out) {
  for (int shift = 8 * (static_cast<int>(sizeof(T)) - 1); shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(static_cast<uint64_t>(value) >> shift & 0xff));
  }
}

// One dimension, counted from 1. Without elements an array has no dimension.
std::string ArrayHead(size_t count, uint32_t element) {
  std::string bytes;
  AppendBigEndian(int32_t{count > 0 ? 1 : 0}, bytes);
  AppendBigEndian(int32_t{0}, bytes);  // no nulls
  AppendBigEndian(element, bytes);
  if (count == 0) return bytes;
  AppendBigEndian(static_cast<int32_t>(count), bytes);
  AppendBigEndian(int32_t{1}, bytes);
  return bytes;
}

std::string ArrayOf(std::span<const std::string> values, uint32_t element) {
  std::string bytes = ArrayHead(values.size(), element);
  for (const std::string& value : values) {
    AppendBigEndian(static_cast<int32_t>(value.size()), bytes);
    bytes += value;
  }
  return bytes;
}

}  // namespace

bool CanBeText(std::string_view text) {
  return text.find('\0') == std::string_view::npos && IsUtf8(text);
}

Value Value::Bigint(int64_t value) {
  std::string bytes;
  AppendBigEndian(value, bytes);
  return {kInt8, std::move(bytes)};
}

Value Value::Integer(int32_t value) {
  std::string bytes;
  AppendBigEndian(value, bytes);
  return {kInt4, std::move(bytes)};
}

Value Value::Bool(bool value) {
  return {kBool, std::string(1, value ? '\1' : '\0')};
}

Value Value::Text(std::string_view value) {
  Value text(kText, std::string(value));
  text.can_be_stored_ = CanBeText(value);
  return text;
}

Value Value::Bytes(std::string_view value) {
  return {kBytea, std::string(value)};
}

Value Value::Uuid(std::string_view hex) {
  std::string bytes;
  int high = -1;
  for (const char digit : hex) {
    if (digit == '-') continue;
    const int value = HexValue(digit);
    if (high < 0) {
      high = value;
      continue;
    }
    bytes.push_back(static_cast<char>(high << 4 | value));
    high = -1;
  }
  Value uuid(kUuid, std::move(bytes));
  uuid.can_be_stored_ = uuid.bytes_->size() == 16;
  return uuid;
}

Value Value::BigintArray(std::span<const int64_t> values) {
  std::string bytes = ArrayHead(values.size(), kInt8);
  for (const int64_t value : values) {
    AppendBigEndian(static_cast<int32_t>(sizeof(value)), bytes);
    AppendBigEndian(value, bytes);
  }
  return {kInt8Array, std::move(bytes)};
}

Value Value::TextArray(std::span<const std::string> values) {
  Value array(kTextArray, ArrayOf(values, kText));
  for (const std::string& value : values) {
    if (!CanBeText(value)) array.can_be_stored_ = false;
  }
  return array;
}

Value Value::BytesArray(std::span<const std::string> values) {
  return {kByteaArray, ArrayOf(values, kBytea)};
}

Value Value::NullText() {
  return {kText, std::nullopt};
}
Value Value::NullBigint() {
  return {kInt8, std::nullopt};
}
Value Value::NullBytes() {
  return {kBytea, std::nullopt};
}

}  // namespace agent_graph::state::postgres
