// Writes the response to a call: one JSON object, or server-sent events.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "facades/mcp/call.h"

namespace agent_graph::mcp {

// Used by the fiber of the request. The head of the response is sent with the first event, so that
// a call that is refused before has an HTTP status of its own.
class CallWriter {
 public:
  // Returns the id of the event after the `count` events before.
  using EventId = std::function<Result<std::string>(uint64_t count)>;

  // `id_json`: of the request, or of the call whose stream is resumed.
  CallWriter(api::HandlerContext& context, std::string id_json, bool stream)
      : context_(context), id_json_(std::move(id_json)), stream_(stream) {}

  // The client can resume the stream behind each of its events. The first `skipped` events are not
  // sent: the client has them. Call it before the first event, and again when events get other ids;
  // then they are counted from zero.
  void NumberEvents(EventId event_id, uint64_t skipped);
  // Sends an event without a message, which has the id of no event before.
  Status SendFirst();

  bool streams() const { return stream_; }
  bool begun() const { return head_sent_; }
  // True if an event with an id was sent.
  bool can_be_resumed() const { return id_sent_; }
  // Sends a notification or a request; nothing if the response is one object. Suspends while the
  // client does not read.
  Status Send(std::string_view message_json);
  // Sends a comment, which clients ignore.
  Status SendComment();

  // Each of these ends the exchange.
  void Finish(std::string_view result_json);
  void Fail(const api::ErrorInfo& error);
  // Without a response: the call was cancelled, or goes on elsewhere.
  void Leave();

 private:
  void SendHead();
  Result<std::string> Framed(std::string_view message_json);
  void SendLast(std::string_view message_json, const std::string& outcome);

  api::HandlerContext& context_;
  const std::string id_json_;
  const bool stream_;
  EventId event_id_;
  uint64_t count_ = 0;
  uint64_t skipped_ = 0;
  bool head_sent_ = false;
  bool id_sent_ = false;
};

}  // namespace agent_graph::mcp
