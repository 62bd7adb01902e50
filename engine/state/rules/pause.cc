#include "state/rules/pause.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/own_json.h"
#include "state/limits.h"
#include "state/rules/stored_json.h"

namespace agent_graph::state {
namespace {

// Maximum number of calls per thread that can be looked up by their id; further ones cannot.
constexpr size_t kWaitingCallsMax = 128;

using TextSet = std::unordered_set<std::string_view>;

bool HasText(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// Removes the entries of a list whose `member` names a call that is not open.
void KeepOpen(json& meta, const char* list, const char* member, const TextSet& open) {
  const json::json_pointer place(list);
  if (!meta.contains(place) || !meta.at(place).is_array()) return;
  json left = json::array();
  for (json& entry : meta.at(place)) {
    const auto id = entry.is_object() ? entry.find(member) : entry.end();
    const bool gone = entry.is_object() && id != entry.end() && id->is_string() &&
                      !open.contains(id->get_ref<const std::string&>());
    if (!gone) left.push_back(std::move(entry));
  }
  meta.at(place) = std::move(left);
}

}  // namespace

bool IsPaused(const std::string& execution) {
  Result<json> meta = ParseJson(execution, kOwnJsonLimits);
  if (!meta.ok() || !meta->is_object()) return false;
  const auto status = meta->find("status");
  return status != meta->end() && status->is_string() &&
         status->get_ref<const std::string&>().starts_with("interrupted_");
}

std::string NarrowPause(const std::string& execution, const std::vector<std::string>& open) {
  Result<json> meta = ParseJson(execution, kOwnJsonLimits);
  if (!meta.ok() || !meta->is_object()) return execution;
  if (open.empty()) {
    json ended = {{"status", "completed"}};
    for (const char* kept : {"current_node", "step"}) {
      if (meta->contains(kept)) ended[kept] = (*meta)[kept];
    }
    return DumpJson(ended);
  }
  const TextSet ids(open.begin(), open.end());
  KeepOpen(*meta, "/interrupt_data/remote_tool_calls", "id", ids);
  KeepOpen(*meta, "/interrupt_data/elicitations", "call_id", ids);
  KeepOpen(*meta, "/interrupt_data/undecided_tool_calls", "call_id", ids);
  KeepOpen(*meta, "/inputs", "call_id", ids);
  return DumpJson(*meta);
}

std::vector<std::string> IdsOf(const std::vector<OpenCall>& calls) {
  std::vector<std::string> ids;
  ids.reserve(calls.size());
  for (const OpenCall& call : calls) ids.push_back(call.id);
  return ids;
}

std::vector<std::string> WaitingCallIds(const std::vector<OpenCall>& calls) {
  std::vector<std::string> ids;
  for (const OpenCall& call : calls) {
    const bool usable = call.remote && !call.id.empty() && call.id.size() <= kIdBytesMax;
    const bool known = std::find(ids.begin(), ids.end(), call.id) != ids.end();
    if (usable && !known && ids.size() < kWaitingCallsMax) ids.push_back(call.id);
  }
  return ids;
}

void TakeIntoPause(const StoredMessage& message, bool is_new, std::vector<OpenCall>& open) {
  const CallsInMessage calls = CallsIn(message.json);
  // Only calls in the newest assistant message can be answered.
  if (is_new && calls.from_assistant) return open.clear();
  const TextSet answered(calls.answered.begin(), calls.answered.end());
  const TextSet made(calls.made.begin(), calls.made.end());
  std::erase_if(open, [&](const OpenCall& call) {
    return answered.contains(call.id) ||
           (HasText(call.message_ids, message.id) && !made.contains(call.id));
  });
}

}  // namespace agent_graph::state
