#include "run/nodes/user_context.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/allocation_account.h"
#include "base/clock.h"
#include "base/ids.h"
#include "run/context/metered_model.h"
#include "run/context/model_conversation.h"
#include "run/nodes/model_call_entry.h"
#include "runtime/runtime.h"
#include "runtime/signal.h"

namespace agent_graph::run {
namespace {

constexpr std::chrono::hours kSleepMax{24 * 365};

// Sleeps until `duration` or the deadline has passed; returns false if interrupted. It never
// returns false before the deadline, so that a function that returns afterwards is known to be
// late.
bool SleepUntilDeadline(std::chrono::milliseconds duration, const RunEnvironment& environment,
                        Deadline deadline) {
  const TolerateAllocations tolerated;
  const Deadline end = DeadlineAfter(std::min<std::chrono::milliseconds>(duration, kSleepMax));
  return runtime::SleepUntil(std::min(end, deadline), &environment.cancellation).ok() &&
         end <= deadline;
}

[[noreturn]] void ThrowModelFailure(const Status& status) {
  if (status.code() == StatusCode::kCancelled) throw RunCancelled(status.message());
  throw ModelError(status.message());
}

}  // namespace

FunctionContext::FunctionContext(RunEnvironmentPtr environment, std::string node, int64_t step,
                                 Deadline deadline, std::shared_ptr<UserEmission> emission)
    : environment_(std::move(environment)),
      node_(std::move(node)),
      deadline_(deadline),
      emission_(std::move(emission)),
      memories_(environment_, deadline_, std::to_string(step)) {}

bool FunctionContext::SleepFor(std::chrono::milliseconds duration) {
  return SleepUntilDeadline(duration, *environment_, deadline_);
}

bool FunctionContext::EmitText(std::string_view piece) {
  const TolerateAllocations tolerated;
  if (emitted_message_id_.empty()) emitted_message_id_ = MakeMessageId();
  return emission_->EmitPiece(emitted_message_id_, piece, "").ok();
}

Message FunctionContext::CallModel(const ModelCall& call) {
  const TolerateAllocations tolerated;
  const std::string message_id = MakeMessageId();
  Result<models::ModelReply> reply = [&] {
    if (runtime::OnFiber()) return Generate(call, message_id);
    // Providers wait on fibers, so this thread spawns a fiber and waits for it.
    runtime::Promise<std::shared_ptr<Result<models::ModelReply>>> promise;
    environment_->runtime->Spawn([self = shared_from_this(), call, message_id, promise] {
      promise.Set(std::make_shared<Result<models::ModelReply>>(self->Generate(call, message_id)));
    });
    auto waited = promise.Wait(&environment_->cancellation, deadline_);
    return waited.ok() ? std::move(**waited) : Result<models::ModelReply>(waited.status());
  }();
  if (reply.status().code() == StatusCode::kBudgetExceeded) {
    MutexLock lock(mutex_);
    budget_failure_ = reply.status();
  }
  if (!reply.ok()) ThrowModelFailure(reply.status());
  reply->message.id = message_id;
  reply->message.role = Role::kAssistant;
  return std::move(reply->message);
}

std::string FunctionContext::MakeMessageId() {
  std::string id = environment_->services->ids->Next();
  MutexLock lock(mutex_);
  made_ids_.insert(id);
  return id;
}

bool FunctionContext::HasMadeId(const std::string& message_id) const {
  MutexLock lock(mutex_);
  return made_ids_.contains(message_id);
}

Status FunctionContext::budget_failure() const {
  MutexLock lock(mutex_);
  return budget_failure_;
}

Result<models::ModelReply> FunctionContext::Generate(const ModelCall& call,
                                                     const std::string& message_id) {
  models::ModelRequest request;
  request.system_prompt = call.system_prompt;
  request.messages = ModelConversation(call.messages);
  std::shared_ptr<void> files;
  if (environment_->services->load_files) {
    AG_ASSIGN_OR_RETURN(files, environment_->services->load_files(*environment_, request.messages));
  }
  request.parameters_json = call.parameters_json;
  request.deadline = deadline_;
  auto on_delta = [&](const models::ModelDelta& delta) {
    AG_RETURN_IF_ERROR(emission_->AwaitPiece(delta.bytes()));
    if (!call.stream) return emission_->HoldPiece(delta.bytes());
    if (delta.hidden_bytes > 0) AG_RETURN_IF_ERROR(emission_->HoldPiece(delta.hidden_bytes));
    return emission_->EmitPiece(message_id, delta.text, delta.reasoning);
  };
  const int64_t started_micros = UnixMicros();
  MeteredReply metered{Status(StatusCode::kModel, "the model call failed")};
  try {
    metered = run::CallModel(*environment_, call.model, std::move(request), on_delta);
  } catch (const std::exception& failure) {
    metered.reply = Status(StatusCode::kModel, "the model call failed").WithDetail(failure.what());
  }
  emission_->LogModelCall(
      ModelCallEntry(node_, call.model, message_id, metered, UnixMicros() - started_micros));
  return std::move(metered.reply);
}

void FunctionContext::Log(LogLevel level, std::string_view text) {
  const TolerateAllocations tolerated;
  environment_->Log(level, node_, text);
}

CallContext::CallContext(RunEnvironmentPtr environment, std::string node, std::string call_id,
                         std::string idempotency_key, Deadline deadline, tools::CallInput* input)
    : environment_(std::move(environment)),
      node_(std::move(node)),
      call_id_(std::move(call_id)),
      idempotency_key_(std::move(idempotency_key)),
      deadline_(deadline),
      input_(input),
      memories_(environment_, deadline_, idempotency_key_, /*outlives_run=*/true) {}

bool CallContext::SleepFor(std::chrono::milliseconds duration) {
  return SleepUntilDeadline(duration, *environment_, deadline_);
}

void CallContext::Log(LogLevel level, std::string_view text) {
  const TolerateAllocations tolerated;
  environment_->Log(level, node_, text);
}

}  // namespace agent_graph::run
