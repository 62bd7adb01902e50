// Calls a model and collects what it streams.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/model.h"

namespace agent_graph::testing {

struct Collected {
  Result<models::ModelReply> reply = Status(StatusCode::kInternal, "not called");
  std::vector<std::string> texts;  // one per delta
  std::string reasoning;
  size_t hidden_bytes = 0;
};

inline Collected Collect(models::ModelProvider& model, const models::ModelRequest& request,
                         const runtime::Cancellation& cancellation = {}) {
  Collected collected;
  collected.reply = model.Generate(request, cancellation, [&](const models::ModelDelta& delta) {
    if (!delta.text.empty()) collected.texts.push_back(delta.text);
    collected.reasoning += delta.reasoning;
    collected.hidden_bytes += delta.hidden_bytes;
    return Status::Ok();
  });
  return collected;
}

inline Message Of(Role role, std::vector<ContentBlock> content) {
  Message message;
  message.role = role;
  message.content = std::move(content);
  return message;
}

inline models::ModelRequest Ask(std::string text) {
  models::ModelRequest request;
  request.messages.push_back(Message::User(std::move(text)));
  return request;
}

}  // namespace agent_graph::testing
