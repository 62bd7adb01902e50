#include "state/search/filter.h"

#include <cmath>
#include <functional>
#include <string_view>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/own_json.h"

namespace agent_graph::state {
namespace {

// Largest integer up to which doubles represent all integers exactly (2^53).
constexpr double kExactMax = 9007199254740992.0;

struct RecordField {
  std::string_view name;
  std::string MemoryRecord::* value;
};
constexpr RecordField kRecordFields[] = {
    {"memory_type", &MemoryRecord::memory_type}, {"category", &MemoryRecord::category},
    {"agent_id", &MemoryRecord::agent_id},       {"thread_id", &MemoryRecord::thread_id},
    {"user_id", &MemoryRecord::owner},           {"content", &MemoryRecord::content},
};

const RecordField* FindField(std::string_view name) {
  for (const RecordField& field : kRecordFields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

uint64_t HashOf(std::string_view key, std::string_view text) {
  const uint64_t hash = std::hash<std::string_view>()(key);
  return (hash ^ (hash >> 29)) * 0x9e3779b97f4a7c15u ^ std::hash<std::string_view>()(text);
}

}  // namespace

std::string ComparableText(const json& value) {
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (number == std::floor(number) && std::abs(number) < kExactMax) {
      return std::to_string(static_cast<int64_t>(number));
    }
  }
  const bool scalar = value.is_string() || value.is_boolean() || value.is_number();
  return scalar ? DumpJson(value) : std::string();
}

FilterMatcher::FilterMatcher(const MemoryFilter& filter) {
  for (const FieldEquals& equals : filter.equals) {
    Result<json> value = ParseJson(equals.json);
    equals_.emplace_back(equals.key, value.ok() ? ComparableText(*value) : std::string());
    hashes_.push_back(HashOf(equals_.back().first, equals_.back().second));
  }
}

bool FilterMatcher::Matches(const MemoryRecord& record) const {
  json metadata;
  for (const auto& [key, text] : equals_) {
    if (text.empty()) return false;
    if (const RecordField* field = FindField(key)) {
      if (ComparableText(record.*(field->value)) != text) return false;
      continue;
    }
    if (metadata.is_null()) {
      Result<json> parsed = ParseJson(record.metadata_json, kOwnJsonLimits);
      metadata = parsed.ok() && parsed->is_object() ? *std::move(parsed) : json::object();
    }
    const auto member = metadata.find(key);
    if (member == metadata.end() || ComparableText(*member) != text) return false;
  }
  return true;
}

std::vector<uint64_t> FieldHashes(const MemoryRecord& record) {
  std::vector<uint64_t> hashes;
  for (const RecordField& field : kRecordFields) {
    hashes.push_back(HashOf(field.name, ComparableText(record.*(field.value))));
  }
  if (record.metadata_json.size() <= 2) return hashes;  // "{}": no metadata
  Result<json> metadata = ParseJson(record.metadata_json, kOwnJsonLimits);
  if (!metadata.ok() || !metadata->is_object()) return hashes;
  for (const auto& [key, value] : metadata->items()) {
    const std::string text = ComparableText(value);
    if (!text.empty() && FindField(key) == nullptr) hashes.push_back(HashOf(key, text));
  }
  return hashes;
}

}  // namespace agent_graph::state
