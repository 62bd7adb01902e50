// The conversation thread as a run works on it: loaded, extended, written back as a snapshot.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/state.h"
#include "base/status.h"
#include "graph/compiled_graph.h"
#include "run/execution_meta.h"
#include "run/initial_state.h"
#include "run/message_ids.h"
#include "run/open_inputs.h"
#include "run/run_log.h"
#include "state/types.h"

namespace agent_graph::run {

class WorkingThread {
 public:
  // Holds no more than `bytes_max`: what would go beyond is kGraph and is not taken.
  WorkingThread(const graph::CompiledGraph& graph, std::string thread_id, size_t bytes_max,
                RunLog& log, MessageIds ids);

  // Takes over what was loaded. kDataLoss when it cannot be read; then Finish leaves it as it is.
  Status Load(state::ThreadState loaded);
  Status Apply(const InitialState& initial, std::vector<Message> context);

  const State& state() const { return *state_; }
  // As JSON, about.
  size_t bytes() const { return message_bytes_ + fields_bytes_; }
  // For a user function, which may hold on to it: see Detach.
  std::shared_ptr<const State> shared_state() const { return state_; }
  // Goes on with a copy of the state, because somebody may still be reading the present one.
  void Detach();

  // Appends a message to the window and the log; `node` is empty for the request's. Returns its
  // JSON text, which stays until the next call.
  Result<std::string_view> Append(Message message, std::string_view node);
  // Whether there are calls without a result that `answers` does not answer either.
  bool HasOpenCalls(const std::vector<Message>& answers) const;
  // Gives each of them what `entries`, the log of the run that made it, says of it.
  Status CloseOpenCalls(const std::vector<Message>& answers,
                        const std::vector<state::LogEntry>& entries);
  // Takes the oldest messages out of the window; history keeps them.
  void Forget(size_t count);
  // The same for calls that were handed to the client, and for those that ask the user, when
  // neither `answers` nor `inputs` holds a new result or answer: the client goes on without them.
  Status CloseAbandonedCalls(const std::vector<Message>& answers, const OpenInputs& inputs);
  // Takes over a node's field updates and summary, then its messages, and logs them; nothing of
  // them when it fails. Returns the messages' JSON texts and takes them out of `result`.
  Result<std::vector<std::string>> TakeIn(NodeResult& result, std::string_view node);

  // What the run leaves behind, with what it has changed of it.
  state::FinishRun Finish(const ExecutionMeta& meta) const;
  std::string AgentState(const ExecutionMeta& meta, const LiveFlags& flags) const;
  // The calls without a result, with the messages of the window that carry them.
  std::vector<state::OpenCall> OpenCalls() const;
  // The window as invoke returns it, from a place on: without remote calls that have their result,
  // which a client would run again.
  std::vector<std::string> VisibleMessages(size_t first = 0) const;

 private:
  Status AppendAll(std::vector<Message> messages);
  void Add(Message message, std::string text, std::string_view node);
  // `beside`: bytes that are to have room, too.
  Status Update(const NodeResult& result, size_t beside, std::string_view node);
  // Whether there is room for that much more.
  Status Admit(size_t bytes);
  // The same, after the fields were counted anew where that may help.
  Status AdmitCounted(size_t bytes);
  // Makes a change of the fields that adds `bytes` at most, unless too much would be stored.
  Status ChangeFields(size_t bytes, const std::function<Status(State&)>& change);

  const graph::CompiledGraph& graph_;
  const std::string thread_id_;
  const size_t bytes_max_;
  RunLog& log_;
  MessageIds ids_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
  struct Stored {
    std::string text;       // JSON
    uint64_t sequence = 0;  // 0: the run's own
  };

  std::vector<Stored> stored_;  // of state_->messages(), one each
  size_t message_bytes_ = 0;
  size_t fields_bytes_ = 0;  // at most so many
  bool loaded_ = false;
  // The place in the run's log of the last change of each.
  std::map<std::string, uint64_t> changed_fields_;
  std::optional<uint64_t> summary_changed_;
  state::ForgottenMessages forgotten_;
};

}  // namespace agent_graph::run
