// Sends the events of a response to the client.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/http/context.h"
#include "facades/openai/response_object.h"
#include "facades/openai/response_reader.h"

namespace agent_graph::openai {

// Used by the fiber of the request. The head is sent when the run is known, so that a request that
// is refused has an HTTP status of its own.
class ResponseStream {
 public:
  explicit ResponseStream(api::HandlerContext& context) : context_(context) {}

  // Returns the options of a reader that sends to this stream.
  ResponseReaderOptions Attached(ResponseReaderOptions options);
  // Ends the request. `error`: why the events have ended before the run; nullopt: they have not.
  // `error_event`: the event for it; empty: the client can read the rest later.
  void Finish(const std::optional<api::ErrorInfo>& error, std::string_view error_event);

 private:
  void SendHead(const ResponseObject& response);

  api::HandlerContext& context_;
  bool head_sent_ = false;
};

// Headers of an answer with a response: X-Thread-Id if it has a thread.
bridge::HeaderList ResponseHeaders(const ResponseObject& response);

}  // namespace agent_graph::openai
