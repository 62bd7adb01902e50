#include "run/nodes/model_call_entry.h"

namespace agent_graph::run {

EntryBody ModelCallEntry(const std::string& node, const std::string& model_name,
                         const std::string& message_id, const MeteredReply& call,
                         int64_t duration_micros) {
  const Result<models::ModelReply>& reply = call.reply;
  if (!reply.ok()) {
    return entry::ModelFailed{.node = node,
                              .model_name = model_name,
                              .duration_micros = duration_micros,
                              .code = std::string(StatusCodeName(reply.status().code())),
                              .reason = reply.status().message(),
                              .input_tokens = call.usage.prompt_tokens,
                              .output_tokens = call.usage.completion_tokens,
                              .cost_nano_usd = call.cost_nano_usd};
  }
  return entry::ModelFinished{
      .node = node,
      .model_name = model_name,
      .duration_micros = duration_micros,
      .stop_reason = reply->stop_reason,
      .reply = entry::ModelFinished::Reply{.model = reply->model,
                                           .message_id = message_id,
                                           .input_tokens = call.usage.prompt_tokens,
                                           .output_tokens = call.usage.completion_tokens,
                                           .cost_nano_usd = call.cost_nano_usd}};
}

}  // namespace agent_graph::run
