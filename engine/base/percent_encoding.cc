#include "base/percent_encoding.h"

#include <algorithm>

#include "base/hex.h"

namespace agent_graph {
namespace {

bool IsUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

// The byte that the escape at the start of `text` encodes; -1 if there is none.
int EscapedByte(std::string_view text) {
  if (text.size() < 3 || text[0] != '%') return -1;
  const int high = HexValue(text[1]);
  const int low = HexValue(text[2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

// False if an escape was invalid; invalid escapes stay as they are.
bool Decode(std::string_view text, std::string& out) {
  bool whole = true;
  out.clear();
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const int byte = EscapedByte(text.substr(i));
    if (byte >= 0) {
      out.push_back(static_cast<char>(byte));
      i += 2;
    } else {
      whole = whole && text[i] != '%';
      out.push_back(text[i]);
    }
  }
  return whole;
}

}  // namespace

std::string PercentEncode(std::string_view text, std::string_view kept) {
  const auto stays = [kept](char c) {
    return IsUnreserved(c) || kept.find(c) != std::string_view::npos;
  };
  if (std::ranges::all_of(text, stays)) return std::string(text);
  constexpr char kDigits[] = "0123456789ABCDEF";  // upper case, as RFC 3986 recommends
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (stays(c)) {
      out.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

bool PercentDecode(std::string_view text, std::string& out) {
  return Decode(text, out);
}

std::string PercentDecodeLeniently(std::string_view text) {
  std::string out;
  Decode(text, out);
  return out;
}

}  // namespace agent_graph
