#include "net/reply_head.h"

#include <algorithm>

namespace agent_graph::net {
namespace {

// True for a status line without a reason phrase, such as "HTTP/1.1 200".
bool EndsBehindTheCode(std::string_view line) {
  constexpr std::string_view kShape = "HTTP/d.d ddd";
  return std::equal(line.begin(), line.end(), kShape.begin(), kShape.end(), [](char c, char shape) {
    return shape == 'd' ? c >= '0' && c <= '9' : c == shape;
  });
}

std::string_view WithoutCarriageReturn(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

size_t ReplyHeadSize(std::string_view bytes, size_t searched) {
  // The end of the head may begin up to three bytes before `searched`.
  size_t at = bytes.find('\n', searched - std::min<size_t>(searched, 3));
  for (; at != std::string_view::npos; at = bytes.find('\n', at + 1)) {
    const std::string_view next = bytes.substr(at + 1);
    if (next.starts_with('\n')) return at + 2;
    if (next.starts_with("\r\n")) return at + 3;
  }
  return 0;
}

bool HasBareLineFeed(std::string_view head) {
  for (size_t at = head.find('\n'); at != std::string_view::npos; at = head.find('\n', at + 1)) {
    if (at == 0 || head[at - 1] != '\r') return true;
  }
  return false;
}

std::optional<std::string> CorrectedReplyHead(std::string_view head) {
  const bool short_status =
      EndsBehindTheCode(WithoutCarriageReturn(head.substr(0, head.find('\n'))));
  if (!short_status && !HasBareLineFeed(head)) return std::nullopt;
  std::string corrected;
  corrected.reserve(head.size() + 32);
  while (!head.empty()) {
    const size_t end = head.find('\n');
    const bool is_status = corrected.empty();
    corrected += WithoutCarriageReturn(head.substr(0, end));
    if (is_status && short_status) corrected += ' ';
    corrected += "\r\n";
    head.remove_prefix(end + 1);
  }
  return corrected;
}

}  // namespace agent_graph::net
