#include "extract/text.h"

#include <cstdint>

#include "base/utf8.h"

namespace agent_graph::extract {
namespace {

constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";

void AppendCodePoint(std::string& out, uint32_t point) {
  if (point < 0x80) {
    out.push_back(static_cast<char>(point));
  } else if (point < 0x800) {
    out.push_back(static_cast<char>(0xc0 | point >> 6));
    out.push_back(static_cast<char>(0x80 | (point & 0x3f)));
  } else if (point < 0x10000) {
    out.push_back(static_cast<char>(0xe0 | point >> 12));
    out.push_back(static_cast<char>(0x80 | (point >> 6 & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (point & 0x3f)));
  } else {
    out.push_back(static_cast<char>(0xf0 | point >> 18));
    out.push_back(static_cast<char>(0x80 | (point >> 12 & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (point >> 6 & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (point & 0x3f)));
  }
}

std::string FromUtf16(std::string_view bytes, bool big_endian) {
  auto unit = [&](size_t i) -> uint32_t {
    auto low = static_cast<unsigned char>(bytes[i + (big_endian ? 1 : 0)]);
    auto high = static_cast<unsigned char>(bytes[i + (big_endian ? 0 : 1)]);
    return static_cast<uint32_t>(high) << 8 | low;
  };
  std::string out;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    uint32_t point = unit(i);
    if (point >= 0xd800 && point < 0xdc00 && i + 3 < bytes.size()) {
      uint32_t low = unit(i + 2);
      if (low >= 0xdc00 && low < 0xe000) {
        point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
        i += 2;
      }
    }
    if (point >= 0xd800 && point < 0xe000) point = 0xfffd;
    AppendCodePoint(out, point);
  }
  return out;
}

std::string FromLatin1(std::string_view bytes) {
  std::string out;
  for (char c : bytes) AppendCodePoint(out, static_cast<unsigned char>(c));
  return out;
}

}  // namespace

void Text::Append(std::string_view utf8) {
  for (char c : utf8) {
    auto byte = static_cast<unsigned char>(c);
    bool shown = byte >= 0x20 || c == '\t' || c == '\n';
    if (!shown || byte == 0x7f) continue;
    if (text_.size() >= kTextBytesMax) {
      full_ = true;
      return;
    }
    text_.push_back(c);
  }
}

void Text::EndLine() {
  if (!text_.empty() && text_.back() != '\n') Append("\n");
}

std::string Text::Take() {
  while (full_ && !text_.empty() && (static_cast<unsigned char>(text_.back()) & 0xc0) == 0x80) {
    text_.pop_back();
  }
  if (full_ && !text_.empty() && static_cast<unsigned char>(text_.back()) >= 0xc0) {
    text_.pop_back();
  }
  constexpr std::string_view kBlank = " \t\n";
  size_t first = text_.find_first_not_of(kBlank);
  if (first == std::string::npos) return {};
  return text_.substr(first, text_.find_last_not_of(kBlank) - first + 1);
}

std::optional<std::string> PlainText(std::string_view bytes) {
  Text text;
  if (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff")) {
    text.Append(FromUtf16(bytes.substr(2), bytes[0] == '\xfe'));
    return text.Take();
  }
  if (bytes.find('\0') != std::string_view::npos) return std::nullopt;  // not text
  if (bytes.starts_with(kUtf8Mark)) bytes.remove_prefix(kUtf8Mark.size());
  if (IsUtf8(bytes)) {
    text.Append(bytes);
  } else {
    text.Append(FromLatin1(bytes.substr(0, kTextBytesMax)));
  }
  return text.Take();
}

}  // namespace agent_graph::extract
