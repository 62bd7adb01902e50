// Responses that can be read later. A response is a run of a thread that the state keeps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent_graph/message.h"
#include "api/http/context.h"
#include "base/status.h"
#include "facades/openai/object_ids.h"
#include "facades/openai/response_reader.h"
#include "run/run_request.h"
#include "state/runs.h"
#include "state/types.h"

namespace agent_graph::openai {

// All suspend the calling fiber.

// Finds a response that the caller may use. The error is the same for one that does not exist, that
// was deleted, and that belongs to another user.
std::optional<api::ErrorInfo> FindResponse(api::HandlerContext& context, const ResponseName& name,
                                           state::RunRecord& run);

// Reads the response as far as its run has come.
std::optional<api::ErrorInfo> ReadResponse(api::HandlerContext& context, const ResponseName& name,
                                           ResponseReader& reader);

// Options of a reader for a response of this service.
ResponseReaderOptions ReaderOptions(const api::HandlerContext& context);
// The same for a request that follows a run of another one: what the reader keeps is counted as
// memory of the request. The context must outlive the reader.
ResponseReaderOptions FollowingReaderOptions(api::HandlerContext& context);

// Reads the stored messages that the items of one request refer to. The request is small, but what
// it refers to may be large: the messages are counted as memory of the request.
class ReferencedMessages {
 public:
  explicit ReferencedMessages(api::HandlerContext& context) : context_(context) {}

  // Returns a message that the caller may read, once the worker has room for it. kNotFound: there
  // is no such message. kResourceExhausted: with it, the request refers to more than
  // limits.run_bytes_max. See failure() for errors that are not about the reference: after one, all
  // calls return it.
  Result<Message> Find(const ItemName& name);
  // The first error that is not about a reference; nullopt: there was none.
  const std::optional<api::ErrorInfo>& failure() const { return failure_; }

 private:
  Result<state::StoredMessage> Read(const ItemName& name);
  // Keeps the error for the request's answer.
  Status Failed(api::ErrorInfo error);

  api::HandlerContext& context_;
  uint64_t bytes_ = 0;  // of all messages, as JSON
  std::optional<api::ErrorInfo> failure_;
};

// Lets the run follow a response: in its thread, if the run is stored and nothing has followed the
// response there; else without that thread, with a copy of the conversation up to the response.
std::optional<api::ErrorInfo> FollowResponse(api::HandlerContext& context,
                                             const ResponseName& previous, bool is_stored,
                                             run::RunRequest& run);

}  // namespace agent_graph::openai
