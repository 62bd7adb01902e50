// Parameters of a statement, in PostgreSQL's binary format.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agent_graph::state::postgres {

// True for UTF-8 without null bytes: the texts that PostgreSQL can store.
bool CanBeText(std::string_view text);

class Value {
 public:
  static Value Bigint(int64_t value);
  // For numbers of ours, which are below 2^63.
  static Value Number(uint64_t value) { return Bigint(static_cast<int64_t>(value)); }
  static Value Integer(int32_t value);
  static Value Bool(bool value);
  // If the text cannot be stored, see CanBeText, the statement fails with kInvalidArgument and is
  // not sent.
  static Value Text(std::string_view value);
  static Value Bytes(std::string_view value);
  // `hex` as Uuid() of Row returns it.
  static Value Uuid(std::string_view hex);
  static Value BigintArray(std::span<const int64_t> values);
  static Value TextArray(std::span<const std::string> values);
  static Value BytesArray(std::span<const std::string> values);
  static Value NullText();
  static Value NullBigint();
  static Value NullBytes();

  uint32_t type() const { return type_; }  // its OID
  const std::optional<std::string>& bytes() const { return bytes_; }
  bool can_be_stored() const { return can_be_stored_; }

 private:
  Value(uint32_t type, std::optional<std::string> bytes) : type_(type), bytes_(std::move(bytes)) {}

  uint32_t type_;
  std::optional<std::string> bytes_;
  bool can_be_stored_ = true;
};

// A statement with its parameters. Its text is prepared once in each session.
struct Command {
  std::string text;
  std::vector<Value> values = {};
};

}  // namespace agent_graph::state::postgres
