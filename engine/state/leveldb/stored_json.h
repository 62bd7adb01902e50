// The few places where the store looks into JSON text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace agent_graph::state {

// A thread's own JSON (fields, metadata) is kept below this, however often it is merged into.
inline constexpr size_t kThreadJsonBytesMax = 4 * 1024 * 1024;

// Merges `patch` into `base`, both objects: objects deeply, other values by replacement, null
// removes. kInvalidArgument names `what` when the patch is no object or the result is too large.
Result<std::string> MergeJsonObjects(const std::string& base, const std::string& patch,
                                     const char* what);

// `base` with the members `names` as they are in `changed`, or without those that it lacks. A base
// that cannot be read is kDataLoss.
Result<std::string> OverlayJsonMembers(const std::string& base, const std::string& changed,
                                       const std::vector<std::string>& names);

// The names of its members; kInvalidArgument names `what` when it is no object.
Result<std::vector<std::string>> MemberNames(const std::string& object, const char* what);

// The execution meta of a paused thread of whose open calls only `open` are left: only they are
// named in what its client is to run. Without any, the thread is not paused any more.
std::string NarrowPause(const std::string& execution, const std::vector<std::string>& open);

// True for the execution meta of a thread that the next run resumes.
bool IsPaused(const std::string& execution);

// The tool calls that a message makes, and those whose results it holds.
struct CallsInMessage {
  bool from_assistant = false;
  std::vector<std::string> made;
  std::vector<std::string> answered;
};
CallsInMessage CallsIn(std::string_view message_json);

// The execution meta of a run that did not tell its own end: an error with this reason.
std::string LostRunExecution(const std::string& current_node, int64_t step,
                             const std::string& reason);
// The log entry that ends such a run.
std::string LostRunEntry(const std::string& run_id, const std::string& reason);

// `run_id` of a log entry; empty when there is none.
std::string RunIdOf(const std::string& entry_json);

// True for a message with "role": "user". Scans the text without parsing it.
bool IsFromUser(std::string_view message_json);

}  // namespace agent_graph::state
