// Writes and reads the JSON objects of log entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent_graph/json.h"
#include "base/json.h"

namespace agent_graph::run {

// Writes one JSON object, member by member.
class ObjectWriter {
 public:
  ObjectWriter() {
    out_.reserve(kUsualBytes);
    out_.push_back('{');
  }

  ObjectWriter& Text(std::string_view key, std::string_view value) {
    AppendJsonString(Key(key), value);
    return *this;
  }
  ObjectWriter& Number(std::string_view key, int64_t value) {
    Key(key) += std::to_string(value);
    return *this;
  }
  ObjectWriter& Flag(std::string_view key, bool value) {
    Key(key) += value ? "true" : "false";
    return *this;
  }
  ObjectWriter& Json(std::string_view key, std::string_view text) {
    Key(key) += text;
    return *this;
  }
  ObjectWriter& Texts(std::string_view key, const std::vector<std::string>& values) {
    std::string& out = Key(key);
    out.push_back('[');
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out.push_back(',');
      AppendJsonString(out, values[i]);
    }
    out.push_back(']');
    return *this;
  }
  std::string Finish() {
    out_.push_back('}');
    return std::move(out_);
  }

 private:
  std::string& Key(std::string_view key) {
    out_ += out_.size() == 1 ? "\"" : ",\"";
    out_.append(key).append("\":");
    return out_;
  }

  static constexpr size_t kUsualBytes = 160;  // so that most objects take one allocation

  std::string out_;
};

// Reads the members of an object; those that are missing or of another type have no value.
class ObjectReader {
 public:
  explicit ObjectReader(const json& object) : object_(object) {}

  const json* Find(const char* key) const {
    const auto found = object_.find(key);
    return found != object_.end() ? &*found : nullptr;
  }
  std::string Text(const char* key) const { return OptionalText(key).value_or(""); }
  std::optional<std::string> OptionalText(const char* key) const {
    const json* value = Find(key);
    if (value == nullptr || !value->is_string()) return std::nullopt;
    return value->get<std::string>();
  }
  int64_t Number(const char* key) const {
    const json* value = Find(key);
    return value != nullptr && value->is_number_integer() ? value->get<int64_t>() : 0;
  }
  bool Flag(const char* key) const {
    const json* value = Find(key);
    return value != nullptr && value->is_boolean() && value->get<bool>();
  }
  std::optional<std::string> OptionalJson(const char* key) const {
    const json* value = Find(key);
    return value != nullptr ? std::optional(DumpJson(*value)) : std::nullopt;
  }
  std::vector<std::string> Texts(const char* key) const {
    std::vector<std::string> texts;
    const json* value = Find(key);
    if (value == nullptr || !value->is_array()) return texts;
    for (const json& item : *value) {
      if (item.is_string()) texts.push_back(item.get<std::string>());
    }
    return texts;
  }

 private:
  const json& object_;
};

}  // namespace agent_graph::run
