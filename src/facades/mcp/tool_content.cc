#include "facades/mcp/tool_content.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "agent_graph/json.h"
#include "base/base64.h"
#include "facades/mcp/json_rpc.h"
#include "facades/mcp/peer.h"

namespace agent_graph::mcp {
namespace {

bool HasText(const json& block, const char* name) {
  return TextMember(&block, name) != nullptr;
}

// Some clients also check that the text is base64.
bool HasData(const json& block, const char* name) {
  const std::string* data = TextMember(&block, name);
  return data != nullptr && DecodeBase64(*data).has_value();
}

// Some clients accept absolute addresses only, which begin with a scheme.
bool HasUri(const json& block) {
  const std::string* uri = TextMember(&block, "uri");
  if (uri == nullptr) return false;
  const auto colon = std::ranges::find(*uri, ':');
  if (colon == uri->begin() || colon == uri->end()) return false;
  const auto is_in_scheme = [](unsigned char c) {
    return c < 128 && (std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.');
  };
  return std::isalpha(static_cast<unsigned char>(uri->front())) != 0 &&
         std::all_of(uri->begin(), colon, is_in_scheme);
}

// Clients take these members, but no null in their place.
bool HasValidOptions(const json& block) {
  static constexpr std::array kTexts = {"mimeType", "title", "description"};
  static constexpr std::array kObjects = {"annotations", "_meta"};
  const auto fits = [&](const char* name, json::value_t type) {
    const auto found = block.find(name);
    return found == block.end() || found->type() == type;
  };
  return std::ranges::all_of(kTexts,
                             [&](auto name) { return fits(name, json::value_t::string); }) &&
         std::ranges::all_of(kObjects,
                             [&](auto name) { return fits(name, json::value_t::object); });
}

bool IsText(const json& block) {
  return HasText(block, "text");
}

bool IsMedia(const json& block) {
  return HasData(block, "data") && HasText(block, "mimeType");
}

bool IsResource(const json& block) {
  const json* resource = ObjectMember(&block, "resource");
  return resource != nullptr && HasUri(*resource) && HasValidOptions(*resource) &&
         (HasText(*resource, "text") || HasData(*resource, "blob"));
}

bool IsLink(const json& block) {
  return HasUri(block) && HasText(block, "name");
}

struct BlockRow {
  std::string_view type;
  bool (*has_members)(const json& block);
  std::string_view since = {};  // the first revision with this type
};

constexpr std::array kBlocks = {
    BlockRow{.type = "text", .has_members = IsText},
    BlockRow{.type = "image", .has_members = IsMedia},
    BlockRow{.type = "audio", .has_members = IsMedia, .since = kAudioSince},
    BlockRow{.type = "resource", .has_members = IsResource},
    BlockRow{.type = "resource_link", .has_members = IsLink, .since = kLinksSince},
};

bool IsBlock(const json& block, std::string_view revision) {
  const std::string* type = block.is_object() ? TextMember(&block, "type") : nullptr;
  if (type == nullptr || !HasValidOptions(block)) return false;
  const auto row = std::ranges::find(kBlocks, *type, &BlockRow::type);
  return row != kBlocks.end() && revision >= row->since && row->has_members(block);
}

}  // namespace

bool IsContent(const json& value, std::string_view revision) {
  return value.is_array() && !value.empty() &&
         std::ranges::all_of(value, [&](const json& block) { return IsBlock(block, revision); });
}

}  // namespace agent_graph::mcp
