// Reading what a client sent: every problem is collected as {loc, msg, type} and answered with 422.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "agent_graph/message.h"
#include "api/errors.h"

namespace agent_graph::settings {
class MediaUrls;
}

namespace agent_graph::api {

inline constexpr size_t kIdBytesMax = 1024;
inline constexpr size_t kSearchBytesMax = 1024;
inline constexpr uint64_t kPageLimitDefault = 100;
inline constexpr uint64_t kPageLimitMax = 1000;
inline constexpr size_t kDetailsMax = 32;  // problems reported for one request

class Problems {
 public:
  void Add(std::vector<std::string> location, std::string message, std::string type);
  bool empty() const { return details_.empty(); }
  // 422 whose text is "body.messages: …; body.config: …".
  ErrorInfo Error() &&;

 private:
  std::vector<ErrorDetail> details_;
};

bool IsValidUtf8(std::string_view text);

// Why an id cannot be used, or nothing. Ids of threads and messages stand in paths (here decoded),
// so that none is accepted that a path could not name again.
std::optional<std::string> ThreadIdProblem(std::string_view thread_id);
std::optional<std::string> MessageIdProblem(std::string_view message_id);
// The same for an id that stands in no path, such as that of an agent.
std::optional<std::string> LabelProblem(std::string_view label);

// --- the body --------------------------------------------------------------------------------

// A member of an object; null when it is absent or null.
const json* FindMember(const json& object, const std::string& key);

// Optional members: absent and null give the default.
int64_t ReadInteger(const json& body, const std::string& key, int64_t fallback, int64_t minimum,
                    int64_t maximum, Problems& problems);
size_t ReadChoice(const json& body, const std::string& key, std::span<const std::string_view> names,
                  size_t fallback, Problems& problems);
// An object, or null when absent.
const json* ReadObject(const json& body, const std::string& key, Problems& problems);

struct MessageLimits {
  const settings::MediaUrls& media_urls;
  size_t body_bytes = 0;  // of the whole request: below message_bytes_max none can be over it
  size_t message_bytes_max = 0;
};

// A problem when the message, without the files it carries, is larger than it may be.
void CheckMessageSize(const Message& message, const std::vector<std::string>& path, size_t index,
                      size_t message_bytes_max, Problems& problems);
void AddTooLarge(const std::vector<std::string>& path, size_t index, size_t message_bytes_max,
                 Problems& problems);

// A non-empty array of messages.
std::vector<Message> ReadMessages(const json& body, const std::string& key,
                                  const MessageLimits& limits, Problems& problems);
// The same for an array that may be empty; `path` is where it stands, e.g. {"body", "state",
// "context"}.
std::vector<Message> ReadMessageArray(const json& array, const std::vector<std::string>& path,
                                      const MessageLimits& limits, Problems& problems);

}  // namespace agent_graph::api
