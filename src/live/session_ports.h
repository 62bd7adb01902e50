// SessionPorts: the actions of a session on its surroundings.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/message.h"
#include "base/clock.h"
#include "live/closing.h"
#include "realtime/link.h"

namespace agent_graph::live {

// SessionDriver implements this interface on the session's fiber; tests implement it to observe a
// session.
class SessionPorts {
 public:
  virtual ~SessionPorts() = default;

  // The time now. An input has the time of its arrival, which is old after a call that suspended.
  virtual Deadline Now() = 0;

  // Towards the client.
  virtual void Emit(std::string event) = 0;
  // Emits the event that ends the session. It is not lost, however many events wait.
  virtual void EmitLast(std::string event) = 0;
  virtual void EmitAudio(std::string pcm) = 0;
  virtual void FlushAudio() = 0;
  // Duration of emitted audio that the client cannot have played yet.
  virtual std::chrono::milliseconds Unplayed() = 0;

  // Towards the model. Configure may suspend the calling fiber.
  virtual realtime::LinkConfig Configure(const std::string& agent) = 0;
  virtual std::vector<std::string> HandoverTargets(const std::string& agent) = 0;
  virtual void OpenLink(const realtime::LinkConfig& config) = 0;  // replaces the current one
  virtual void CloseLink() = 0;
  virtual realtime::Link* link() = 0;  // null: no link is open
  // Prepares a link in addition to the current one. It replaces that one at BeginNextLink.
  virtual void PrepareNextLink(const realtime::LinkConfig& config) = 0;
  virtual void BeginNextLink(const realtime::LinkConfig& config) = 0;
  virtual void DropNextLink() = 0;
  virtual bool OneLinkAtATime() = 0;  // at most one link may have begun
  virtual bool LinksResume() = 0;     // the configured provider supports handles
  // Maximum bytes of client frames that may currently wait for the model.
  virtual size_t UpstreamBytesMax() = 0;

  // The results arrive through Session::OnToolReplies with the same `number`.
  virtual void CallTools(std::vector<realtime::ToolCall> calls, uint64_t number) = 0;
  // Stores messages in the thread in the order of the calls.
  virtual void Store(Message message) = 0;
  // Records that the model has answered or called tools. `since`: when the answer was first
  // expected.
  virtual void RecordAnswer(Deadline since, std::string_view stop_reason) = 0;
  // Session::OnHandleStored follows when the handle is stored.
  virtual void StoreHandle(std::string handle) = 0;

  // Logs a line for the operator.
  virtual void Warn(const std::string& line) = 0;
  // The last call, except for Store with results of tools.
  virtual void Close(Closing closing) = 0;
};

}  // namespace agent_graph::live
