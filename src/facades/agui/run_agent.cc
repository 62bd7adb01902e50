// POST /agui: runs the agent, or reads a run of the thread if the request brings nothing new.
#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "agent_graph/json.h"
#include "api/http/request_memory.h"
#include "api/resources/message_input.h"
#include "api/resources/run_request.h"
#include "base/free_memory.h"
#include "base/json.h"
#include "base/own_json.h"
#include "bridge/exchange.h"
#include "facades/agui/agui_messages.h"
#include "facades/agui/agui_reader.h"
#include "facades/agui/agui_request.h"
#include "facades/agui/handlers.h"
#include "facades/agui/interrupts.h"
#include "facades/agui/thread_history.h"
#include "facades/run/facade_run.h"
#include "run/context/execution_meta.h"
#include "state/service.h"

namespace agent_graph::agui {
namespace {

using api::ErrorInfo;
using api::HandlerContext;

// A route of this API that needs the same permission as reading a run here.
constexpr std::string_view kReadRunPattern = "/v1/threads/{thread_id}/runs/{run_id}/stream";

// One request. Each function answers it, chooses the next step, or returns the error to answer
// with.
class RequestAnswer {
 public:
  RequestAnswer(HandlerContext& context, AgUiRequest request)
      : context_(context), request_(std::move(request)) {
    client_.thread_id = request_.run.thread_id;
    client_.run_id = request_.run.run_id;
    client_.parent_run_id = request_.parent_run_id;
    client_.is_current = request_.is_current;
    client_.message_ids = MessageIdsOf(Messages());
  }

  std::optional<ErrorInfo> Give() {
    if (auto error = Choose()) return error;
    switch (next_) {
      case Next::kPerform:
        return Perform();
      case Next::kJoin:
        return Join();
      case Next::kNothing:
        break;
    }
    return std::nullopt;
  }

 private:
  enum class Next { kNothing, kPerform, kJoin };
  // The actions of a request on an existing thread. ChooseOnThread selects one.
  enum class OnThread { kRepeat, kJoinKnown, kJoinLatest, kPerform };

  // Reads the thread and chooses what to do. Not inlined, as other functions that end before a run
  // begins: a run that waits for its model needs none of this on its stack.
  [[gnu::noinline]] std::optional<ErrorInfo> Choose() {
    if (context_.api().state == nullptr) return RunWithoutThread();
    held_before_ = context_.exchange().held_bytes();
    if (auto error = CheckThread(context_.route())) return error;
    Result<state::ThreadState> thread = api::ReadThreadState(
        context_.exchange(), context_.state(), request_.run.scope, request_.run.thread_id);
    if (thread.ok()) return RunOnThread(*std::move(thread));
    if (thread.status().code() != StatusCode::kNotFound) return context_.Explain(thread.status());
    return RunOnNewThread();
  }

  const json& Messages() const { return context_.body().at("messages"); }

  // A thread of another user is answered like one that does not exist.
  std::optional<ErrorInfo> CheckThread(const api::Route& route) {
    std::optional<ErrorInfo> error = context_.CheckThread(route, request_.run.thread_id);
    if (error && error->error == api::ApiError::kPermissionDenied) return NoThread();
    return error;
  }

  ErrorInfo NoThread() { return context_.Explain(NotFound("thread not found")); }

  // Reads the messages with these indices into the request.
  std::optional<ErrorInfo> TakeMessages(const std::vector<size_t>& indices) {
    api::Problems problems;
    request_.run.messages =
        ReadMessages(Messages(), indices, api::MessageLimitsOf(context_), problems);
    if (!problems.empty()) return std::move(problems).Error();
    for (const Message& message : request_.run.messages) {
      for (const ToolResultBlock* result : message.ToolResults()) {
        client_.answered_calls.push_back(result->call_id);
      }
    }
    return std::nullopt;
  }

  std::optional<ErrorInfo> NothingToDo() {
    api::Problems problems;
    problems.Add({"body", "messages"}, "must not be empty", api::ProblemType::kTooShort);
    return std::move(problems).Error();
  }

  // Without a checkpointer the client's messages are the whole conversation.
  std::optional<ErrorInfo> RunWithoutThread() {
    if (request_.terms.accepted) {
      return ErrorInfo{api::ApiError::kNotConfigured, "checkpointer not configured", {}};
    }
    if (!request_.resume.empty()) return Refuse({});
    if (auto error = TakeMessages(IndicesFrom(Messages(), 0))) return error;
    if (request_.run.messages.empty()) return NothingToDo();
    next_ = Next::kPerform;
    return std::nullopt;
  }

  std::optional<ErrorInfo> RunOnNewThread() {
    if (!request_.resume.empty()) return Refuse({});
    if (auto error = TakeMessages(IndicesFrom(Messages(), 0))) return error;
    if (request_.run.messages.empty()) return NoThread();
    client_.state.Set(request_.run.initial_state ? *request_.run.initial_state : json::object());
    next_ = Next::kPerform;
    return std::nullopt;
  }

  // Applies the first row that fits. `known`: the run of the thread with the request's id. There is
  // one if the response was lost and the client repeats its request.
  //
  //   the request                                       the thread                  does
  //   has an Idempotency-Key, and a message behind      has a run with its id       kRepeat
  //     the last answer
  //   has no new message, or answers interrupts         has a run with its id       kJoinKnown
  //   has no new message, nor a message behind the      any                         kJoinLatest
  //     last answer, and answers no interrupts
  //   has no new message, and answers no interrupts     its last run did not fail   kJoinLatest
  //   any other                                         any                         kPerform
  OnThread ChooseOnThread(const state::ThreadState& thread, bool has_new,
                          const std::optional<state::RunRecord>& known) const {
    const bool answers = !request_.resume.empty();
    const bool has_tail = HasTail(Messages());
    if (known && request_.terms.key && has_tail) return OnThread::kRepeat;
    if (known && (!has_new || answers)) return OnThread::kJoinKnown;
    if (has_new || answers) return OnThread::kPerform;
    return has_tail && IsRetried(thread) ? OnThread::kPerform : OnThread::kJoinLatest;
  }

  std::optional<ErrorInfo> RunOnThread(state::ThreadState thread) {
    std::vector<size_t> added = NewMessages(Messages(), thread.window);
    const bool has_new = !added.empty();
    const bool may_be_repeated = !has_new || !request_.resume.empty() || request_.terms.key;
    const std::optional<state::RunRecord> known =
        may_be_repeated ? FindRun(request_.run.run_id) : std::nullopt;
    const OnThread chosen = ChooseOnThread(thread, has_new, known);
    if (chosen == OnThread::kJoinKnown) return ChooseJoin(*known, thread);
    if (chosen == OnThread::kJoinLatest) return JoinLatest(thread);
    // The messages of a run that failed are sent again.
    if (!has_new && request_.resume.empty()) added = IndicesFrom(Messages(), TailOf(Messages()));
    if (auto error = TakeMessages(added)) return error;
    next_ = Next::kPerform;
    if (chosen == OnThread::kRepeat) {
      // Its key leads to the run that it has begun.
      client_.joins = true;
      Release(thread);
      return std::nullopt;
    }
    const std::vector<OpenInterrupt> open = InterruptsOf(thread);
    if (!request_.resume.empty() || !open.empty()) {
      if (auto error = TakeResume(open, request_.resume, request_.run)) return RefuseWith(*error);
    }
    if (auto error = TellThread(thread)) return error;
    Release(thread);
    return std::nullopt;
  }

  // True if the last run has failed, so that the same messages begin another one.
  static bool IsRetried(const state::ThreadState& thread) {
    if (thread.in_flight) return false;
    const auto meta = run::ExecutionMeta::FromJson(thread.snapshot.execution_json);
    return meta.stopped || meta.phase == run::ExecutionMeta::Phase::kError;
  }

  // Frees the state, which may be large. Later steps read it again if they need it.
  void Release(state::ThreadState& thread) {
    FreeMemory(thread);
    context_.exchange().Hold(held_before_);
  }

  // Prepares the events that bring the client up to date before the run: the state, and messages
  // that others have added.
  std::optional<ErrorInfo> TellThread(const state::ThreadState& thread) {
    Result<json> stored = ParseJson(thread.snapshot.fields_json, kOwnJsonLimits);
    json fields = stored.ok() && stored->is_object() ? *std::move(stored) : json::object();
    if (request_.run.initial_state) {
      for (const auto& [name, value] : request_.run.initial_state->items()) fields[name] = value;
    }
    client_.state.Set(std::move(fields));
    client_.state_may_change = thread.in_flight.has_value();
    const std::unordered_set<std::string_view> known(client_.message_ids.begin(),
                                                     client_.message_ids.end());
    const auto is_known = [&](const std::string& id) {
      const std::string_view result = ResultOfAttachments(id);
      return known.contains(id) || (!result.empty() && known.contains(result));
    };
    if (std::ranges::all_of(thread.window, is_known, &state::StoredMessage::id)) {
      return std::nullopt;
    }
    Result<MessageList> messages = ReadHistory(context_, request_.run.thread_id,
                                               thread.window.back().sequence, request_.is_current);
    if (!messages.ok()) return context_.Explain(messages.status());
    if (std::ranges::all_of(messages->ids(), is_known)) return std::nullopt;
    for (const Message& message : request_.run.messages) messages->Append(message);
    if (messages->is_cut() && !messages->AddOlder(Messages(), kSnapshotWithClientBytesMax)) {
      return std::nullopt;
    }
    AppendMessagesSnapshot(client_.messages_event, *messages, client_.message_ids);
    return std::nullopt;
  }

  std::optional<state::RunRecord> FindRun(const std::string& run_id) {
    if (run_id.empty()) return std::nullopt;
    Result<state::RunRecord> found =
        context_.state().GetRun({request_.run.scope, request_.run.thread_id, run_id});
    return found.ok() ? std::optional(*std::move(found)) : std::nullopt;
  }

  std::optional<ErrorInfo> JoinLatest(state::ThreadState& thread) {
    std::optional<state::RunRecord> latest;
    if (thread.in_flight) latest = FindRun(thread.in_flight->run_id);
    if (!latest) latest = FindRun(thread.record.last_run_id);
    if (latest) return ChooseJoin(*std::move(latest), thread);
    Release(thread);
    if (auto error = CheckReading()) return error;
    AgUiReader reader(context_, std::move(client_));
    const Status shown = reader.ShowThread(nullptr);
    reader.Finish(shown.ok() ? std::nullopt : std::optional(context_.Explain(shown)));
    return std::nullopt;
  }

  std::optional<ErrorInfo> ChooseJoin(state::RunRecord run, state::ThreadState& thread) {
    Release(thread);
    joined_ = std::move(run);
    client_.joins = true;
    client_.follows = true;
    next_ = Next::kJoin;
    return CheckReading();
  }

  // Reading a run without beginning one needs the permission of the service's own route.
  std::optional<ErrorInfo> CheckReading() {
    const auto route =
        std::ranges::find(context_.api().routes, kReadRunPattern, &api::Route::pattern);
    return route == context_.api().routes.end() ? std::nullopt : CheckThread(*route);
  }

  std::optional<ErrorInfo> Join() {
    reader_.emplace(context_, std::move(client_));
    std::optional<ErrorInfo> error =
        facades::ReadRun(context_, {joined_.thread_id, joined_.run_id}, {}, *reader_);
    const bool is_cut = error && !reader_->begun() && error->error == api::ApiError::kGone;
    if (is_cut && state::HasEnded(joined_.state)) {
      const Status shown = reader_->ShowThread(&joined_);
      error = shown.ok() ? std::nullopt : std::optional(context_.Explain(shown));
    }
    reader_->Finish(error);
    return std::nullopt;
  }

  std::optional<ErrorInfo> Refuse(const std::vector<OpenInterrupt>& open) {
    const auto error = TakeResume(open, request_.resume, request_.run);
    return error ? RefuseWith(*error) : std::nullopt;
  }

  std::optional<ErrorInfo> RefuseWith(const ErrorInfo& error) {
    next_ = Next::kNothing;
    AgUiReader(context_, std::move(client_)).Refuse(error);
    return std::nullopt;
  }

  std::optional<ErrorInfo> Perform() {
    if (auto error = MakeRun()) return error;
    EndRun(facades::PerformRun(context_, std::move(run_), *reader_));
    return std::nullopt;
  }

  [[gnu::noinline]] std::optional<ErrorInfo> MakeRun() {
    run_.request.run = std::move(request_.run);
    run_.terms = std::move(request_.terms);
    if (auto error = facades::FindKeyOrFiles(context_, run_)) return error;
    run_.request.run.transient = context_.api().state == nullptr;
    client_.follows = run_.terms.accepted;
    run_.wants_states = !run_.terms.accepted;  // the log has the changes
    run_.kept_bytes = client_.id_bytes();
    reader_.emplace(context_, std::move(client_));
    return std::nullopt;
  }

  [[gnu::noinline]] void EndRun(const std::optional<ErrorInfo>& error) {
    // The interrupts were answered meanwhile by another request.
    const bool is_late = error && !reader_->begun() && !request_.resume.empty() &&
                         error->error == api::ApiError::kValidation;
    is_late ? reader_->Refuse(*error) : reader_->Finish(error);
  }

  HandlerContext& context_;
  AgUiRequest request_;
  AgUiClient client_;
  Next next_ = Next::kNothing;
  uint64_t held_before_ = 0;  // bytes that the request holds without the state
  state::RunRecord joined_;   // with Next::kJoin: the run to read
  facades::FacadeRun run_;
  std::optional<AgUiReader> reader_;
};

// Returns nullptr if the request was refused.
[[gnu::noinline]] std::unique_ptr<RequestAnswer> ReadAnswer(HandlerContext& context) {
  api::Problems problems;
  AgUiRequest request = ReadRequest(context, problems);
  if (problems.empty()) return std::make_unique<RequestAnswer>(context, std::move(request));
  context.Fail(std::move(problems).Error());
  return nullptr;
}

}  // namespace

void RunAgent(HandlerContext& context) {
  const std::unique_ptr<RequestAnswer> answer = ReadAnswer(context);
  if (answer == nullptr) return;
  if (auto error = answer->Give()) context.Fail(*error);
}

}  // namespace agent_graph::agui
