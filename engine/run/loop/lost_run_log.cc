#include "run/loop/lost_run_log.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "run/log/log_entry.h"
#include "state/requests.h"
#include "state/service.h"

namespace agent_graph::run {
namespace {

constexpr uint32_t kRunsMax = 32;
constexpr uint32_t kEntriesMax = 10'000;

// The entries about calls, read run by run from the newest to the oldest.
class CallHistory {
 public:
  explicit CallHistory(const std::string& message_id) : message_id_(message_id) {}

  // Returns true if the run has added the message: older runs do not concern its calls.
  bool TakeEarlier(const std::vector<state::LogEntry>& run) {
    std::vector<EntryBody> calls;
    for (const state::LogEntry& stored : run) {
      std::optional<EntryBody> body = Decode(stored);
      if (!body) continue;
      const auto* added = std::get_if<entry::MessageAdded>(&*body);
      if (added != nullptr && added->message_id == message_id_) {
        calls.clear();
        is_complete_ = true;
      } else if (CallOf(*body) != nullptr) {
        calls.push_back(*std::move(body));
      }
    }
    runs_.push_back(std::move(calls));
    return is_complete_;
  }

  LostCalls Finish() const {
    LostCalls lost;
    for (auto calls = runs_.rbegin(); calls != runs_.rend(); ++calls) {
      for (const EntryBody& body : *calls) lost.Note(body);
    }
    if (!is_complete_) lost.SetIncomplete();
    return lost;
  }

 private:
  const std::string& message_id_;
  std::vector<std::vector<EntryBody>> runs_;  // newest first
  bool is_complete_ = false;
};

Status ReadBack(state::Service& state, const state::Scope& scope, const std::string& thread_id,
                CallHistory& history) {
  state::ReadRunsRequest read{.scope = scope,
                              .thread_id = thread_id,
                              .run_id = {},
                              .runs_max = 1,
                              .entries_max = kEntriesMax};
  AG_ASSIGN_OR_RETURN(const state::RunTraces newest, state.ReadRuns(read));
  if (history.TakeEarlier(newest.entries) || newest.run_id.empty()) return Status::Ok();
  AG_ASSIGN_OR_RETURN(const state::RunTraces older, state.ReadRuns({.scope = scope,
                                                                    .thread_id = thread_id,
                                                                    .run_id = {},
                                                                    .runs_max = kRunsMax,
                                                                    .entries_max = 1}));
  const std::vector<std::string> newest_first(older.run_ids.rbegin(), older.run_ids.rend());
  for (size_t i = 1; i < newest_first.size(); ++i) {
    const auto here = newest_first.begin() + static_cast<ptrdiff_t>(i);
    // Clients may use the id of a run again; then only its newest run can be read.
    if (std::find(newest_first.begin(), here, *here) != here) break;
    read.run_id = *here;
    read.runs_max = static_cast<uint32_t>(i + 1);
    AG_ASSIGN_OR_RETURN(const state::RunTraces traces, state.ReadRuns(read));
    if (history.TakeEarlier(traces.entries) || traces.run_id.empty()) break;
  }
  return Status::Ok();
}

}  // namespace

Result<LostCalls> ReadLostCalls(state::Service& state, const state::Scope& scope,
                                const std::string& thread_id, const std::string& message_id) {
  CallHistory history(message_id);
  const Status read = ReadBack(state, scope, thread_id, history);
  // A damaged log stays damaged: the calls that it does not show are unknown then.
  if (!read.ok() && read.code() != StatusCode::kDataLoss) return read;
  return history.Finish();
}

}  // namespace agent_graph::run
