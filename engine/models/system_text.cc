#include "models/system_text.h"

#include "message/texts.h"

namespace agent_graph::models {

std::string SystemText(const ModelRequest& request) {
  std::string all = request.system_prompt;
  for (const Message& message : request.messages) {
    if (message.role != Role::kSystem) continue;
    for (const std::string_view text : message::Texts(message)) {
      if (!all.empty()) all += "\n\n";
      all += text;
    }
  }
  return all;
}

}  // namespace agent_graph::models
