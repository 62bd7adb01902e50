// The response object of the Responses API.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/message.h"

namespace agent_graph::openai {

// A response as far as it is known. Texts named …_json are JSON.
struct ResponseObject {
  std::string id;
  std::string model;
  int64_t created_at = 0;    // in seconds since the Unix epoch
  int64_t completed_at = 0;  // 0: it has not ended, or not well
  // queued, in_progress, completed, incomplete, failed or cancelled
  std::string_view status = "in_progress";
  // The members that repeat the request: an object, see request_note.h. Empty: the request is not
  // known (yet).
  std::string note_json;
  std::vector<std::string> output;  // an item each; empty texts are left out
  std::optional<Usage> usage;
  std::string error_json;         // set if the response failed
  std::string incomplete_reason;  // set if it is incomplete
  std::string interrupt_json;     // the question of the run to the user; empty: there is none
};

std::string ToJson(const ResponseObject& response);

}  // namespace agent_graph::openai
