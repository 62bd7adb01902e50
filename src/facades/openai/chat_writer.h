// Writes the response of a chat completion: one object, or server-sent events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/http/context.h"
#include "base/status.h"
#include "facades/openai/chat_request.h"
#include "facades/openai/chat_view.h"
#include "facades/run/held_bytes.h"

namespace agent_graph::openai {

// The run behind a response.
struct AnsweredRun {
  std::string run_id;
  std::string thread_id;    // empty: none that a later request could name
  bool repeatable = false;  // the same request gets this run again, and no new one
};

// How a run that did not fail has ended.
struct ChatEnd {
  std::string interrupt_json = {};  // the question to the client; empty: there is none
};

// Calls do not overlap. Sends the head with the first piece or comment, so that a run that fails
// before it can still set the HTTP status.
class ChatWriter {
 public:
  // `counts`: what is collected is counted as memory of the request; set it if the request does not
  // execute the run itself.
  ChatWriter(api::HandlerContext& context, bool stream, bool include_usage, bool counts);

  // Call first.
  void Begin(const AnsweredRun& run);
  bool begun() const { return !id_.empty(); }
  bool streams() const { return stream_; }
  // Streams or collects the piece. Suspends while the client does not read.
  Status Show(const Piece& piece);
  // Sends a comment, which clients ignore, and before it the head and the role if nothing was sent
  // yet. Has no effect before Begin, or if the response is one JSON object.
  Status SendComment();

  // Each of these ends the request.
  void Finish(const ChatView& view, const ChatEnd& end);
  void Fail(const Status& status);
  void Fail(const api::ErrorInfo& error);

 private:
  void AppendIdentity(std::string& out, std::string_view object) const;
  // Sends the head and begins the message. Has no effect if that was done.
  void BeginStream();
  // Appends one event with a choice; `delta` is a JSON object.
  void AppendChunk(std::string_view delta, std::string_view finish_reason,
                   std::string_view more = {});
  void AppendPiece(const Piece& piece);
  bridge::HeaderList Headers() const;
  void FinishStream(const ChatView& view, const ChatEnd& end);
  void FinishObject(const ChatView& view, const ChatEnd& end);

  api::HandlerContext& context_;
  const bool stream_;
  const bool include_usage_;
  std::string id_;
  std::string thread_id_;
  bool repeatable_ = false;
  int64_t created_ = 0;
  bool head_sent_ = false;
  std::string event_head_;  // what the events of this stream begin with
  std::string events_;      // those that are not sent yet
  Piece collected_;
  facades::HeldBytes held_;
};

}  // namespace agent_graph::openai
