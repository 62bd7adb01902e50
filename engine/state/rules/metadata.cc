#include "state/rules/metadata.h"

#include <algorithm>
#include <optional>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/own_json.h"

namespace agent_graph::state {
namespace {

std::optional<std::string> TextOf(const json& value) {
  std::optional<std::string> text;
  if (value.is_string()) text = value.get<std::string>();
  if (value.is_number() || value.is_boolean()) text = DumpJson(value);
  if (text && text->size() > kMetadataValueBytesMax) text.reset();
  return text;
}

}  // namespace

std::vector<MetadataValue> MetadataValuesOf(const std::string& metadata_json,
                                            const std::vector<std::string>& names) {
  std::vector<MetadataValue> values;
  if (names.empty() || metadata_json.size() <= 2) return values;  // {}
  const Result<json> metadata = ParseJson(metadata_json, kOwnJsonLimits);
  if (!metadata.ok() || !metadata->is_object()) return values;
  for (const std::string& name : names) {
    const auto found = metadata->find(name);
    if (found == metadata->end()) continue;
    if (std::optional<std::string> text = TextOf(*found)) {
      values.push_back({name, *std::move(text)});
    }
  }
  return values;
}

bool HasMetadata(const std::string& metadata_json, const std::vector<MetadataValue>& values) {
  if (values.empty()) return true;
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const MetadataValue& value : values) names.push_back(value.name);
  return MetadataValuesOf(metadata_json, names) == values;
}

}  // namespace agent_graph::state
