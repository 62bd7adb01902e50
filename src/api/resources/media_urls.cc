#include "api/resources/media_urls.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "agent_graph/json.h"

namespace agent_graph::api {
namespace {

constexpr std::string_view kMediaTypes[] = {"image", "audio", "video", "document"};

std::string_view TextAt(const json& object, const std::string& key) {
  const json* member = FindMember(object, key);
  return member != nullptr && member->is_string()
             ? std::string_view(member->get_ref<const std::string&>())
             : std::string_view();
}

// Returns the URL that the message codec reads from the reference; empty if it reads a file id or
// data.
std::string_view UrlOf(const json& reference) {
  const std::string_view kind = TextAt(reference, "kind");
  const bool is_url = kind.empty() ? TextAt(reference, "file_id").empty() &&
                                         TextAt(reference, "data_base64").empty()
                                   : kind == "url";
  return is_url ? TextAt(reference, "url") : std::string_view();
}

}  // namespace

void CheckMediaUrls(const json& content, const std::vector<std::string>& path,
                    const settings::MediaUrls& urls, Problems& problems) {
  if (!content.is_array()) return;
  for (size_t i = 0; i < content.size(); ++i) {
    const json& block = content[i];
    if (!block.is_object() || std::ranges::count(kMediaTypes, TextAt(block, "type")) == 0) continue;
    const json* nested = FindMember(block, "media");
    const json& reference = nested != nullptr ? *nested : block;
    if (!reference.is_object()) continue;
    const std::string_view url = UrlOf(reference);
    if (url.empty()) continue;
    std::optional<std::string> fault = urls.Fault(url);
    if (!fault) continue;
    std::vector<std::string> location = path;
    location.push_back(std::to_string(i));
    if (nested != nullptr) location.emplace_back("media");
    location.emplace_back("url");
    problems.Add(std::move(location), *std::move(fault), ProblemType::kValue);
  }
}

}  // namespace agent_graph::api
