#include "models/system_text.h"

namespace agent_graph::models {

std::string SystemText(const ModelRequest& request) {
  std::string all = request.system_prompt;
  for (const Message& message : request.messages) {
    if (message.role != Role::kSystem) continue;
    const std::string text = message.Text();
    if (!all.empty() && !text.empty()) all += "\n\n";
    all += text;
  }
  return all;
}

}  // namespace agent_graph::models
