// Reads values of requests. All problems are collected as {loc, msg, type} and answered with 422.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "api/http/errors.h"

namespace agent_graph::api {

inline constexpr size_t kIdBytesMax = 1024;
inline constexpr size_t kSearchBytesMax = 1024;
inline constexpr uint64_t kPageLimitDefault = 100;
inline constexpr uint64_t kPageLimitMax = 1000;
inline constexpr size_t kDetailsMax = 32;  // maximum of problems that are reported for a request

// Collects the problems of one request; keeps the first kDetailsMax. Not thread-safe.
class Problems {
 public:
  void Add(std::vector<std::string> location, std::string message, ProblemType type);
  bool empty() const { return details_.empty(); }
  // Returns a 422 error with the text "body.messages: …; body.config: …".
  ErrorInfo Error() &&;

 private:
  std::vector<ErrorDetail> details_;
};

// Returns the reason why an id cannot be used; nullopt: it can. Ids of threads and messages are
// parts of paths (here decoded), so an id that no path can contain is refused.
std::optional<std::string> ThreadIdProblem(std::string_view thread_id);
std::optional<std::string> MessageIdProblem(std::string_view message_id);
// The same for an id that is not part of a path, such as that of an agent.
std::optional<std::string> LabelProblem(std::string_view label);

// --- the body --------------------------------------------------------------------------------

// Returns a member of an object; null if it is absent or null.
const json* FindMember(const json& object, std::string_view key);

}  // namespace agent_graph::api
