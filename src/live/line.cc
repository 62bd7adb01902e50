#include "live/line.h"

#include <utility>

namespace agent_graph::live {

size_t BytesOf(const Message& message) {
  size_t bytes = message.Text().size();
  for (const ToolCallBlock* call : message.ToolCalls()) bytes += call->arguments_json.size();
  for (const ToolResultBlock* result : message.ToolResults()) bytes += result->output_json.size();
  return bytes;
}

Message SpokenByUser(std::string text) {
  Message message = Message::User(std::move(text));
  message.metadata_json = R"({"modality":"audio"})";
  return message;
}

}  // namespace agent_graph::live
