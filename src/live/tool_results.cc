#include "live/tool_results.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace agent_graph::live {
namespace {

// Limits of the text: arguments or result of one call, the calls of one reply, and several replies.
constexpr size_t kPartBytesMax = 16 * 1024;
constexpr size_t kReplyBytesMax = 128 * 1024;
constexpr size_t kUnsentBytesMax = 4 * kReplyBytesMax;

}  // namespace

std::string DescribeResults(const std::vector<realtime::ToolCall>& calls,
                            const std::vector<realtime::ToolReply>& replies) {
  std::string text;
  for (const realtime::ToolReply& reply : replies) {
    if (!text.empty()) text.push_back('\n');
    text += "The tool " + reply.name;
    const auto call = std::ranges::find_if(calls, [&](const realtime::ToolCall& made) {
      return made.id == reply.id && made.name == reply.name;
    });
    if (call != calls.end()) {
      text += ", called with ";
      text += CutAtCharacter(call->arguments_json, kPartBytesMax);
      text += ",";
    }
    text += " returned ";
    text += CutAtCharacter(reply.output_json, kPartBytesMax);
  }
  return std::string(CutAtCharacter(text, kReplyBytesMax));
}

void UnsentResults::Add(const std::string& text) {
  if (!text_.empty()) text_.push_back('\n');
  text_ += text;
  text_.resize(CutAtCharacter(text_, kUnsentBytesMax).size());
}

std::string UnsentResults::Take() {
  return std::exchange(text_, {});
}

}  // namespace agent_graph::live
