// Writes the answer of a chat completion from the events of its run.
#pragma once

#include <optional>
#include <string>

#include "api/stream/run_reader.h"
#include "facades/openai/chat_view.h"
#include "facades/openai/chat_writer.h"

namespace agent_graph::openai {

class ChatReader : public api::RunReader {
 public:
  // All must outlive it. `repeatable`: the same request gets this run again, and no new one.
  ChatReader(ChatView& view, ChatWriter& writer, bool repeatable)
      : view_(view), writer_(writer), repeatable_(repeatable) {}

  Status OnStart(const run::RunStart& start, const state::RunRecord* record) override;
  Status OnDelta(const run::RunDelta& delta, const api::EventPlace& place, bool is_first) override;
  Status OnMessage(const api::MessageEvent& event, const api::EventPlace& place) override;
  // Another attempt produces the message again, but the client cannot discard the pieces it has.
  Status OnReset(std::string_view message_id, uint32_t attempt) override;
  Status OnError(const api::RunError& error, const api::EventPlace& place) override;
  Status OnEnd(const api::RunEnd& end, const api::EventPlace& place) override;
  Status OnIdle() override { return writer_.SendComment(); }

  // Ends the request. `error`: why the events have ended before the run; nullopt: they have not.
  void Finish(const std::optional<api::ErrorInfo>& error);

 private:
  ChatView& view_;
  ChatWriter& writer_;
  const bool repeatable_;
  std::optional<api::ErrorInfo> error_;
  ChatEnd end_;
};

}  // namespace agent_graph::openai
