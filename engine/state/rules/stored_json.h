// The few places where a backend looks into JSON text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace agent_graph::state {

// Merges `patch` into `base`, both objects: objects recursively, other values by replacement, null
// removes. Returns kInvalidArgument, naming `what`, if the patch is not an object or the result is
// too large.
Result<std::string> MergeJsonObjects(const std::string& base, const std::string& patch,
                                     const char* what);

// Returns `base` with the members `names` copied from `changed`, or removed if `changed` lacks
// them. Returns kDataLoss if `base` cannot be parsed.
Result<std::string> OverlayJsonMembers(const std::string& base, const std::string& changed,
                                       const std::vector<std::string>& names);

// Returns the member names; kInvalidArgument, naming `what`, if the text is not an object.
Result<std::vector<std::string>> MemberNames(const std::string& object, const char* what);

// The ids of the tool calls in a message, and of the calls whose results it contains.
struct CallsInMessage {
  bool from_assistant = false;
  std::vector<std::string> made;
  std::vector<std::string> answered;
};
CallsInMessage CallsIn(std::string_view message_json);

// Returns `run_id` of a log entry; empty if there is none.
std::string RunIdOf(const std::string& entry_json);

// True for a message with "role": "user". Scans the text without parsing it.
bool IsFromUser(std::string_view message_json);

}  // namespace agent_graph::state
