#include "facades/run/answer_parts.h"

#include "agent_graph/json.h"
#include "base/json.h"

namespace agent_graph::facades {

void AddUsage(const Usage& more, Usage& sum) {
  sum.prompt_tokens += more.prompt_tokens;
  sum.completion_tokens += more.completion_tokens;
  sum.total_tokens += more.total_tokens;
  sum.reasoning_tokens += more.reasoning_tokens;
  sum.cache_creation_input_tokens += more.cache_creation_input_tokens;
  sum.cache_read_input_tokens += more.cache_read_input_tokens;
}

std::string StopReasonOf(const Message& message) {
  const Result<json> metadata = ParseJson(message.metadata_json);
  if (!metadata.ok() || !metadata->is_object()) return "";
  const auto found = metadata->find("stop_reason");
  return found != metadata->end() && found->is_string() ? found->get<std::string>() : "";
}

std::string_view RestOf(std::string_view text, size_t shown) {
  return shown <= text.size() ? text.substr(shown) : std::string_view();
}

}  // namespace agent_graph::facades
