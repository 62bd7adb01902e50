#include "models/media.h"

namespace agent_graph::models {
namespace {

constexpr std::string_view kDataScheme = "data:";
constexpr std::string_view kBase64Mark = ";base64,";

std::string UsualType(MediaBlock::Type type) {
  switch (type) {
    case MediaBlock::Type::kImage:
      return "image/png";
    case MediaBlock::Type::kAudio:
      return "audio/wav";
    case MediaBlock::Type::kVideo:
      return "video/mp4";
    case MediaBlock::Type::kDocument:
      break;
  }
  return "application/pdf";
}

}  // namespace

std::optional<InlineData> InlineDataOf(const MediaBlock& block) {
  const MediaReference& media = block.media;
  InlineData data;
  if (media.kind == MediaReference::Kind::kData) {
    data = {.mime_type = media.mime_type, .base64 = media.data_base64};
  } else if (media.kind == MediaReference::Kind::kUrl && media.url.starts_with(kDataScheme)) {
    const size_t mark = media.url.find(kBase64Mark);
    if (mark == std::string::npos) return std::nullopt;
    // Parameters between the type and the marker, e.g. a charset, are useless to a model.
    const std::string type = media.url.substr(kDataScheme.size(), mark - kDataScheme.size());
    data = {.mime_type = type.substr(0, type.find(';')),
            .base64 = media.url.substr(mark + kBase64Mark.size())};
  } else {
    return std::nullopt;
  }
  if (data.mime_type.empty()) data.mime_type = UsualType(block.type);
  return data;
}

std::string PlaceholderText(const MediaReference& media) {
  const std::string& name = media.filename.empty() ? media.file_id : media.filename;
  return "[attached file" + (name.empty() ? "" : " " + name) + " is not readable here]";
}

}  // namespace agent_graph::models
