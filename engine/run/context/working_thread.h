// The conversation thread during a run: loaded, extended, and stored as a snapshot.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/state.h"
#include "base/json_weight.h"
#include "base/status.h"
#include "graph/compiled_graph.h"
#include "run/context/execution_meta.h"
#include "run/context/initial_state.h"
#include "run/context/lost_calls.h"
#include "run/context/message_ids.h"
#include "run/context/open_inputs.h"
#include "run/context/window_cache.h"
#include "run/log/run_log.h"
#include "state/requests.h"
#include "state/types.h"

namespace agent_graph::run {

// Not thread-safe: used by the run's fiber.
class WorkingThread {
 public:
  // Holds at most `bytes_max` bytes. An addition beyond that fails with kGraph and is not applied.
  WorkingThread(const graph::CompiledGraph& graph, std::string thread_id, size_t bytes_max,
                RunLog& log, MessageIds ids);

  // Takes over the loaded state. `decoded`: the messages of its window, if they are decoded
  // already; otherwise empty. Returns kDataLoss if it cannot be read; Finish then leaves the stored
  // state unchanged.
  Status Load(state::ThreadState&& loaded, std::vector<Message> decoded = {});
  Status Apply(const InitialState& initial, std::vector<Message> context);

  const State& state() const { return *state_; }
  // Approximate size as JSON.
  size_t bytes() const { return message_bytes_ + fields_bytes_; }
  // bytes(), and the estimated size of the parsed structures: see JsonWeight.
  size_t weight() const {
    return bytes() + fields_structure_ + json_weight::kMessage * stored_.size();
  }
  // For a user function, which may keep it; see Detach.
  std::shared_ptr<const State> shared_state() const { return state_; }
  // Continues with a copy of the state, because a user function may still be reading the current
  // one.
  void Detach();

  // Appends a message to the window and the log; `node` is empty for messages of the request.
  // kUnavailable: the state did not say if the thread has a message with that id.
  // Returns its JSON text, which is valid until the next call.
  Result<std::string_view> Append(Message message, std::string_view node);
  // True if a pending call has a result neither in the thread nor in `answers`.
  bool HasOpenCalls(const std::vector<Message>& answers) const;
  // The id of the message with the pending calls; empty if there is none.
  std::string MessageOfPendingCalls() const;
  // Adds a result for each of these calls: that of `lost`.
  Status CloseOpenCalls(const std::vector<Message>& answers, const LostCalls& lost);
  // Removes the oldest messages from the window; the history keeps them.
  void Forget(size_t count);
  // Like CloseOpenCalls, for calls that were handed to the client and calls that ask the user, if
  // neither `answers` nor `inputs` has a new result or answer: the client continues without them.
  Status CloseAbandonedCalls(const std::vector<Message>& answers, const OpenInputs& inputs);
  // See MessageIds::Announce.
  void Announce(std::string id) { ids_.Announce(std::move(id)); }
  // Applies a node's field updates and summary, then its messages, and logs them. On an error
  // nothing is applied. Moves the messages out of `result` and returns them as they will be stored,
  // valid until the next call.
  Result<std::span<const state::StoredMessage>> TakeIn(NodeResult& result, std::string_view node);
  // Position in the run's log of the first message that the last TakeIn has added.
  uint64_t first_taken_in() const { return first_taken_in_; }

  // Returns what the run stores at its end, with the list of what it has changed.
  state::FinishRunRequest Finish(const ExecutionMeta& meta) const;
  std::string AgentState(const ExecutionMeta& meta, const LiveFlags& flags) const;
  // The calls without a result, with the messages of the window that contain them.
  std::vector<state::OpenCall> OpenCalls() const;
  // Calls `show` with the JSON text of each message from index `first` to before `end` as clients
  // see it: without remote calls that already have their result, which they would otherwise execute
  // again.
  void ShowMessages(size_t first, size_t end,
                    const std::function<void(std::string_view)>& show) const;
  // All messages as clients see them, as a JSON array.
  std::string VisibleMessages() const;
  // Gives the messages away for the next run; this object has no window afterwards. Empty if a user
  // function may still be reading them.
  DecodedWindow TakeWindow();

 private:
  // Call before an id that was not generated is looked up: marks the ids of the loaded messages as
  // taken.
  void ReserveLoaded(const std::string& wanted);
  Status AppendAll(std::vector<Message> messages);
  void Add(Message message, std::string text, std::string_view node);
  // `beside`: additional bytes that must also fit.
  Status Update(NodeResult& result, size_t beside, std::string_view node);
  // Sets fields and summary without reducers, and logs them.
  Status Set(const InitialState& initial);
  // Logs what a node's updates have done.
  void LogUpdate(NodeResult& result, std::vector<graph::UpdateEffect> effects,
                 std::string_view node);
  // Logs everything that the run has changed so far.
  void LogAllChanges();
  // Checks that this many more bytes fit.
  Status Admit(size_t bytes);
  void RecountFields();
  // Like Admit, but computes the exact size of the fields if the estimate does not fit.
  Status AdmitCounted(size_t bytes);
  // Applies a change of the fields that adds at most `bytes`, unless the fields would be too large.
  Status ChangeFields(size_t bytes, const std::function<Status(State&)>& change);

  const graph::CompiledGraph& graph_;
  const std::string thread_id_;
  const size_t bytes_max_;
  RunLog& log_;
  MessageIds ids_;
  std::shared_ptr<State> state_ = std::make_shared<State>();

  uint64_t first_taken_in_ = 0;
  // One per message in state_->messages(). Messages that this run adds have no sequence number.
  std::vector<state::StoredMessage> stored_;
  bool reserved_loaded_ = false;
  size_t message_bytes_ = 0;
  size_t fields_bytes_ = 0;      // upper bound
  size_t fields_structure_ = 0;  // the same
  bool loaded_ = false;
  // Position in the run's log of the last change of each field.
  std::map<std::string, uint64_t> changed_fields_;
  std::optional<uint64_t> summary_changed_;
  // Fields that still have their default, which is not stored: a change logs their whole value.
  std::set<std::string> unstored_fields_;
  state::ForgottenMessages forgotten_;
};

}  // namespace agent_graph::run
