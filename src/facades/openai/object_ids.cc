#include "facades/openai/object_ids.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/base64.h"

namespace agent_graph::openai {
namespace {

constexpr std::string_view kResponsePrefix = "resp_";
// In the order of ItemKind.
constexpr std::array<std::string_view, 4> kItemPrefixes = {"msg_", "rs_", "fc_", "fco_"};
constexpr size_t kObjectIdBytesMax = 4096;
constexpr char kBetweenParts = '\0';

std::string EncodeParts(std::string_view prefix, const std::vector<std::string_view>& parts) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += kBetweenParts;
    text += parts[i];
  }
  return std::string(prefix) + EncodeBase64Url(text);
}

std::optional<std::vector<std::string>> DecodeParts(std::string_view prefix, std::string_view id,
                                                    size_t count) {
  if (!id.starts_with(prefix) || id.size() > kObjectIdBytesMax) return std::nullopt;
  std::string text(id.substr(prefix.size()));
  std::ranges::replace(text, '-', '+');
  std::ranges::replace(text, '_', '/');
  const std::optional<std::string> bytes = DecodeBase64(text);
  // One object has one id.
  if (!bytes || EncodeBase64Url(*bytes) != id.substr(prefix.size())) return std::nullopt;
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= bytes->size();) {
    const size_t end = std::min(bytes->find(kBetweenParts, begin), bytes->size());
    parts.push_back(bytes->substr(begin, end - begin));
    begin = end + 1;
  }
  if (parts.size() != count) return std::nullopt;
  return parts;
}

}  // namespace

std::string ResponseId(const ResponseName& name) {
  return EncodeParts(kResponsePrefix, {name.thread_id, name.run_id});
}

std::optional<ResponseName> ParseResponseId(std::string_view id) {
  auto parts = DecodeParts(kResponsePrefix, id, 2);
  if (!parts || (*parts)[0].empty() || (*parts)[1].empty()) return std::nullopt;
  return ResponseName{std::move((*parts)[0]), std::move((*parts)[1])};
}

std::string ItemId(const ItemName& name) {
  return EncodeParts(kItemPrefixes[static_cast<size_t>(name.kind)],
                     {name.thread_id, name.message_id, name.part});
}

std::optional<ItemName> ParseItemId(std::string_view id) {
  for (size_t kind = 0; kind < kItemPrefixes.size(); ++kind) {
    auto parts = DecodeParts(kItemPrefixes[kind], id, 3);
    if (!parts || (*parts)[0].empty() || (*parts)[1].empty()) continue;
    return ItemName{static_cast<ItemKind>(kind), std::move((*parts)[0]), std::move((*parts)[1]),
                    std::move((*parts)[2])};
  }
  return std::nullopt;
}

}  // namespace agent_graph::openai
