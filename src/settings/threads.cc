#include "settings/threads.h"

#include <algorithm>

namespace agent_graph::settings {
namespace {

constexpr size_t kMetadataNamesMax = 16;
constexpr size_t kMetadataNameBytesMax = 64;

Status ReadIndexedMetadata(const Value& value, ThreadSettings& threads) {
  std::vector<std::string> names;
  AG_RETURN_IF_ERROR(value.ReadStrings(names));
  if (names.size() > kMetadataNamesMax) {
    return value.Error("has more than " + std::to_string(kMetadataNamesMax) + " names");
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty() || names[i].size() > kMetadataNameBytesMax) {
      return value.Element(i).Error("a name has 1 to " + std::to_string(kMetadataNameBytesMax) +
                                    " bytes");
    }
    if (std::ranges::count(names, names[i]) > 1) return value.Element(i).Error("occurs twice");
  }
  threads.indexed_metadata = std::move(names);
  return Status::Ok();
}

constexpr Key<ThreadSettings> kThreadKeys[] = {
    {"indexed_metadata", ReadIndexedMetadata},
};

}  // namespace

Status ReadThreads(const Value& value, Settings& settings) {
  return ReadObject(value, kThreadKeys, settings.threads);
}

}  // namespace agent_graph::settings
