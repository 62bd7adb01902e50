#include "api/resources/ready.h"

#include <iterator>
#include <string>

namespace agent_graph::api {
namespace {

struct PartText {
  std::string_view name;
  std::string_view problem;
};

// In the order of the enum. No text names a host, a path or a key.
constexpr PartText kParts[] = {
    {"graph", "the service has not started in this worker, see the error log"},
    {"engine", "the engine threads do not answer"},
    {"state", "the state server or its database does not answer, see the error log"},
    {"disk", "the state directory cannot be written to, or its disk is full"},
    {"models", "the provider of a model failed several times in a row"},
};
static_assert(std::size(kParts) == static_cast<size_t>(ReadyPart::kCount));

}  // namespace

Reply ReadyReply(std::span<const ReadyPart> failing, std::string_view request_id) {
  if (failing.empty()) return SuccessReply("\"ready\"", "OK", request_id);
  ErrorInfo error{ApiError::kUnavailable, "not ready: ", {}};
  for (const ReadyPart part : failing) {
    const PartText& text = kParts[static_cast<size_t>(part)];
    if (!error.details.empty()) error.message += ", ";
    error.message += text.name;
    error.details.push_back({.location = {std::string(text.name)},
                             .message = std::string(text.problem),
                             .type = ProblemType::kNotReady});
  }
  return ErrorReply(error, request_id);
}

}  // namespace agent_graph::api
