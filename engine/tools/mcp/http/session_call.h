// One tool call in a session, with the questions that the server asks the user during it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "agent_graph/json_fwd.h"
#include "base/mutex.h"
#include "base/status.h"
#include "runtime/cancellation.h"
#include "runtime/signal.h"
#include "tools/mcp/http/transport.h"
#include "tools/mcp/protocol/client.h"
#include "tools/mcp/protocol/elicitation.h"

namespace agent_graph::tools::mcp {

// Created and used by one fiber; ListenBeside starts a second one.
class SessionCall : public std::enable_shared_from_this<SessionCall> {
 public:
  using ConnectionPtr = std::shared_ptr<const Connection>;
  // Receives the server's other messages, on the fiber that has read them.
  using OtherMessage = std::function<void(const json& message, const WaitOptions& wait)>;

  // `questions` is used until Make or GoOn returns.
  SessionCall(std::shared_ptr<const Transport> transport, ConnectionPtr connection, int64_t id,
              SessionQuestions& questions, OtherMessage on_other);

  // Also accepts questions on the session's own stream; requires that the session is used for this
  // call only. Call before Make or GoOn. Returns when the stream is open or does not exist.
  void ListenBeside(const WaitOptions& wait);

  // Makes the call. If the reply has `stopped`, the call pauses.
  Result<HttpReply> Make(const Outgoing& outgoing, const WaitOptions& wait);
  // Sends the answer and resumes the call's stream behind the question.
  Result<HttpReply> ContinueCall(const Continuation& place, const json& answer, ReplyMemory* memory,
                                 const WaitOptions& wait);

 private:
  template <typename Read>
  Result<HttpReply> WhileWaiting(const WaitOptions& wait, Read read);
  StreamHandlers Handlers(ReplyMemory* memory, const WaitOptions& wait);
  // Returns false if the call pauses.
  bool TakeQuestion(const json& request, const WaitOptions& wait);
  void Listen(const std::shared_ptr<runtime::Signal>& opened);
  // Waits for the call stream's first event id: a question on the session's stream may arrive
  // earlier.
  void WaitForPlace(const WaitOptions& wait);

  const std::shared_ptr<const Transport> transport_;
  const ConnectionPtr connection_;
  const int64_t id_;
  const OtherMessage on_other_;
  const runtime::Cancellation stop_;   // cancelled when the call pauses or its caller cancels
  const runtime::Cancellation ended_;  // ends Listen
  runtime::Signal placed_;

  Mutex mutex_;
  SessionQuestions* questions_ AG_GUARDED_BY(mutex_);  // null: the call has ended
  std::string last_event_id_ AG_GUARDED_BY(mutex_);    // in the call's stream
};

}  // namespace agent_graph::tools::mcp
