#include "models/media.h"

#include <cstdint>

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

int ValueOf(char letter) {
  if (letter >= 'A' && letter <= 'Z') return letter - 'A';
  if (letter >= 'a' && letter <= 'z') return letter - 'a' + 26;
  if (letter >= '0' && letter <= '9') return letter - '0' + 52;
  if (letter == '+') return 62;
  return letter == '/' ? 63 : -1;
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
    // Parameters between the type and the mark, e.g. a charset, are of no use to a model.
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

std::string EncodeBase64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; ++j) {
      bits = bits << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    }
    for (size_t j = 0; j < 4; ++j) {
      out.push_back(i + j <= bytes.size() ? kDigits[bits >> (18 - 6 * j) & 63] : '=');
    }
  }
  return out;
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int count = 0;
  for (const char letter : text) {
    const int value = ValueOf(letter);
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xff));
  }
  return bytes;
}

}  // namespace agent_graph::models
