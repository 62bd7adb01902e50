// The answer of an accepted run, read from its log.
#pragma once

#include <optional>
#include <string>

#include "agent_graph/json_fwd.h"
#include "api/stream/run_follower.h"
#include "facades/openai/chat_view.h"
#include "facades/openai/chat_writer.h"

namespace agent_graph::openai {

// Receives the lines of a RunFollower, from the first one to `done`, and writes the response.
class FollowedChat : public api::FollowerOutput {
 public:
  // Both must outlive it.
  FollowedChat(ChatView& view, ChatWriter& writer) : view_(view), writer_(writer) {}

  // Fails if the run has to be answered with an error, which Finish then sends.
  Status Send(const api::StreamLine& line) override;
  Status SendHeartbeat() override { return writer_.SendComment(); }

  // Ends the request, with `followed` as the result of the follower.
  void Finish(const Status& followed);

 private:
  Status TakeMessage(const json& message);
  // Another attempt produces the message again, and the client cannot take back what it has.
  Status TakeReset(const json& data);

  ChatView& view_;
  ChatWriter& writer_;
  std::optional<api::ErrorInfo> error_;
  ChatEnd end_;
};

}  // namespace agent_graph::openai
