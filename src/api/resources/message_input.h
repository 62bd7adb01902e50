// Reads the messages in a request body.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "agent_graph/message.h"
#include "api/http/context.h"

namespace agent_graph::settings {
class MediaUrls;
}

namespace agent_graph::api {

// Limits for the messages of a request.
struct MessageLimits {
  const settings::MediaUrls& media_urls;
  size_t body_bytes = 0;  // size of the whole request
  size_t message_bytes_max = 0;

  // False if no message of the request can exceed the limit, which is that of its stored form.
  // One with stored content, such as that of a referenced item, may exceed it nevertheless.
  bool may_be_exceeded() const { return body_bytes > message_bytes_max / kStoredFactorMax; }

  // A stored message names the arguments of calls twice, and writes 1e14 as 100000000000000.0.
  static constexpr size_t kStoredFactorMax = 8;
};
MessageLimits MessageLimitsOf(const HandlerContext& context);

// Returns the bytes of base64 that inline files take in the message.
size_t InlineBytes(const Message& message);

// Adds a problem if the message without its inline files is too large. Serialises the whole
// message: call it once for each.
void CheckMessageSize(const Message& message, const std::vector<std::string>& path, size_t index,
                      size_t message_bytes_max, Problems& problems);
void AddTooLarge(const std::vector<std::string>& path, size_t index, size_t message_bytes_max,
                 Problems& problems);

// Reads a non-empty array of messages.
std::vector<Message> ReadMessages(const json& body, const std::string& key,
                                  const MessageLimits& limits, Problems& problems);
// Same for an array that may be empty. `path` is its location, e.g. {"body", "state", "context"}.
std::vector<Message> ReadMessageArray(const json& array, const std::vector<std::string>& path,
                                      const MessageLimits& limits, Problems& problems);

}  // namespace agent_graph::api
