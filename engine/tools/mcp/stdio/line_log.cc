#include "tools/mcp/stdio/line_log.h"

#include <algorithm>

#include "base/environment.h"
#include "base/text.h"

namespace agent_graph::tools::mcp {
namespace {

constexpr std::chrono::seconds kWindow{10};

}  // namespace

void LineLog::Feed(std::string_view bytes) {
  for (size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    partial_.append(bytes.substr(0, std::min(end, kLogLineBytesMax + 1)));
    Line(partial_);
    partial_.clear();
    bytes.remove_prefix(end + 1);
  }
  // Bytes above the line limit are never logged; one more shows that the line is cut.
  const size_t room = kLogLineBytesMax + 1 - std::min(partial_.size(), kLogLineBytesMax + 1);
  partial_.append(bytes.substr(0, room));
}

std::string LineLog::Printable(std::string_view line) const {
  std::string text = OneLine(line, kLogLineBytesMax);
  line.size() > kLogLineBytesMax ? BlotOutOfCutText(secrets_, text) : BlotOut(secrets_, text);
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

void LineLog::Line(std::string_view line) {
  std::string text = Printable(line);
  if (text.empty()) return;
  last_ = text;
  if (MayWrite()) write_(text);
}

bool LineLog::MayWrite() {
  const auto now = MonotonicClock::now();
  if (now >= window_end_) {
    if (left_out_ > 0) write_("(" + std::to_string(left_out_) + " lines left out)");
    window_end_ = now + kWindow;
    written_ = left_out_ = 0;
  }
  if (written_ == kLogLinesMax) {
    ++left_out_;
    return false;
  }
  ++written_;
  return true;
}

}  // namespace agent_graph::tools::mcp
