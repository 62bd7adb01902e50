// Writes the events of a run as the response: a stream of AG-UI's events.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/message.h"
#include "api/http/context.h"
#include "facades/agui/event_stream.h"
#include "facades/agui/shared_state.h"
#include "facades/run/held_bytes.h"
#include "facades/run/step_reader.h"

namespace agent_graph::agui {

// The values that the client has sent, and the messages that it lacks before the first event.
struct AgUiClient {
  std::string thread_id;
  std::string run_id;
  std::string parent_run_id;
  bool is_current = false;  // the client knows the protocol's version 1.0
  // True: joins a run that may have begun already, so that the messages and the state are sent
  // first.
  bool joins = false;
  // True: the request follows a run that it does not execute.
  bool follows = false;
  std::vector<std::string> message_ids;     // messages that the client has
  std::vector<std::string> answered_calls;  // calls whose results the client has
  SharedState state;
  // The state may have changed before the run begins.
  bool state_may_change = false;
  // MESSAGES_SNAPSHOT; empty: the client has all messages.
  std::string messages_event;

  // Estimated memory of the ids, which a client may send in any number.
  uint64_t id_bytes() const;
};

// Used by the fiber of the request. It sends the head with the first event, so that a run that does
// not begin has an HTTP status of its own.
class AgUiReader : public facades::StepReader {
 public:
  // The context must outlive it.
  AgUiReader(api::HandlerContext& context, AgUiClient client);

  Status OnStart(const run::RunStart& start, const state::RunRecord* record) override;
  Status OnNodeFinished(std::string_view node, int step, const api::EventPlace& place) override;
  Status OnStateChanged(const state::StateEffect& effect, const api::EventPlace& place) override;
  Status OnState(const std::string& state_json, const api::EventPlace& place) override;
  Status OnError(const api::RunError& error, const api::EventPlace& place) override;
  Status OnEnd(const api::RunEnd& end, const api::EventPlace& place) override;
  Status OnIdle() override;

  // True after the first event: errors are then events, too.
  bool begun() const { return begun_; }
  // Answers with what is stored of the thread, without a run.
  Status ShowThread(const state::RunRecord* record);
  // Ends the request. `error`: the run did not begin, or its events have ended before it has.
  void Finish(const std::optional<api::ErrorInfo>& error);
  // Ends the request with RUN_ERROR as an event, also as the first one.
  void Refuse(const api::ErrorInfo& error);

 private:
  Status OnMessageStarted(const facades::MessageHead& head, const api::EventPlace& place) override;
  Status OnText(const facades::MessageHead& head, std::string_view text,
                const api::EventPlace& place) override;
  Status OnReasoning(const facades::MessageHead& head, std::string_view text,
                     const api::EventPlace& place) override;
  Status OnToolCall(const facades::MessageHead& head, const ToolCallBlock& call,
                    const api::EventPlace& place) override;
  Status OnMessageFinished(const facades::MessageHead& head, const Message& message,
                           const api::EventPlace& place) override;
  Status OnToolResult(const facades::MessageHead& head, const ToolResultBlock& result,
                      const api::EventPlace& place) override;
  Status OnMessageVoid(const facades::MessageHead& head, uint32_t attempt) override;

  void Begin(const std::string& run_id);
  Result<state::ThreadState> ReadThread();
  // Appends the state and the messages of the thread as they are stored now. `void_message_id`: a
  // message that the client must remove; empty: none.
  Status AppendThread(std::string_view void_message_id);
  void AppendFinished(const api::RunEnd& end);
  Status AppendInterrupted(const api::RunEnd& end);
  void AppendError(const api::ErrorInfo& error);
  std::string UsageJson() const;
  // Counts the state, of which the reader keeps two copies, and the ids as memory of the request.
  void CountState() { held_.Set(client_.state.bytes() + id_bytes_); }
  Status Flush();
  void End(std::string outcome);

  api::HandlerContext& context_;
  AgUiClient client_;
  facades::HeldBytes held_;
  uint64_t id_bytes_;  // of client_
  EventStream events_;
  std::string run_id_;  // as the client sees it
  bool begun_ = false;
  bool ended_ = false;
  int64_t joined_micros_ = 0;  // earlier changes of the state are in the first snapshot
  std::optional<api::ErrorInfo> error_;
  std::map<std::string, Usage> usage_;  // by model
};

}  // namespace agent_graph::agui
