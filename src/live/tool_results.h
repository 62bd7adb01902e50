// Results of tool calls as text, for a model that did not make these calls or does not remember
// them. A provider refuses results of calls that its session did not make.
#pragma once

#include <string>
#include <vector>

#include "realtime/link.h"

namespace agent_graph::live {

// Describes the results of one reply's calls. The length is limited: the text leaves room for other
// messages in the history.
std::string DescribeResults(const std::vector<realtime::ToolCall>& calls,
                            const std::vector<realtime::ToolReply>& replies);

// Results of calls that an earlier link made, until the current link gets them as text.
class UnsentResults {
 public:
  // Adds a text. A text that exceeds the limit is cut.
  void Add(const std::string& text);
  bool empty() const { return text_.empty(); }
  size_t bytes() const { return text_.size(); }
  std::string Take();

 private:
  std::string text_;
};

}  // namespace agent_graph::live
