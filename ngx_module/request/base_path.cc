#include "ngx_module/request/base_path.h"

#include "base/hex.h"
#include "base/percent_encoding.h"

namespace agent_graph::nginx {
namespace {

constexpr std::string_view kPathMarks = "/!$&'()*+,;=:@";  // RFC 3986

// Removes and returns the next decoded character of `raw`; -1 for an invalid escape.
int TakeDecoded(std::string_view& raw) {
  char c = raw.front();
  if (c != '%') {
    raw.remove_prefix(1);
    return static_cast<unsigned char>(c);
  }
  if (raw.size() < 3) return -1;
  int high = HexValue(raw[1]);
  int low = HexValue(raw[2]);
  if (high < 0 || low < 0) return -1;
  raw.remove_prefix(3);
  return high * 16 + low;
}

bool DecodesTo(std::string_view raw, std::string_view decoded) {
  for (char expected : decoded) {
    if (raw.empty() || TakeDecoded(raw) != static_cast<unsigned char>(expected)) return false;
  }
  return raw.empty();
}

void SkipSlashes(std::string_view& path) {
  size_t begin = path.find_first_not_of('/');
  path.remove_prefix(begin == std::string_view::npos ? path.size() : begin);
}

}  // namespace

std::optional<std::string_view> StripBasePath(std::string_view raw_path, std::string_view base) {
  std::string_view rest = raw_path;
  SkipSlashes(base);
  while (!base.empty()) {
    std::string_view segment = base.substr(0, base.find('/'));
    base.remove_prefix(segment.size());
    SkipSlashes(base);
    SkipSlashes(rest);
    std::string_view raw_segment = rest.substr(0, rest.find('/'));
    if (!DecodesTo(raw_segment, segment)) return std::nullopt;
    rest.remove_prefix(raw_segment.size());
  }
  return rest;
}

std::string UrlPrefix(std::string_view base) {
  while (base.ends_with('/')) base.remove_suffix(1);
  return PercentEncode(base, kPathMarks);
}

}  // namespace agent_graph::nginx
