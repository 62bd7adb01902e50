#include "run/context/metered_model.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "run/context/context_window.h"
#include "run/context/run_meter.h"

namespace agent_graph::run {
namespace {

constexpr size_t kBytesOfToken = 4;

int64_t EstimateInput(const models::ModelRequest& request) {
  size_t tokens = request.system_prompt.size() / kBytesOfToken;
  for (const Message& message : request.messages) tokens += EstimateTokens(message);
  return static_cast<int64_t>(tokens);
}

int64_t Tokens(const Usage& usage) {
  return std::max<int64_t>(0, usage.prompt_tokens) + std::max<int64_t>(0, usage.completion_tokens);
}

// One call: reports to the meter the call's usage since the last report.
class CallInProgress {
 public:
  CallInProgress(const RunEnvironment& environment, const std::string& model)
      : environment_(environment), model_(model) {}

  Status Report(const Usage& usage) {
    const int64_t tokens = Tokens(usage) - Tokens(usage_);
    const int64_t cost = CostOf(environment_, model_, usage);
    const int64_t more = cost - std::exchange(cost_, cost);
    usage_ = usage;
    reported_ = true;
    if (environment_.meter == nullptr) return Status::Ok();
    return environment_.meter->Use(tokens, more);
  }
  bool reported() const { return reported_; }
  const Usage& usage() const { return usage_; }
  int64_t cost() const { return cost_; }

 private:
  const RunEnvironment& environment_;
  const std::string& model_;
  Usage usage_;
  int64_t cost_ = 0;
  bool reported_ = false;
};

bool HasPrice(const RunEnvironment& environment, const std::string& model) {
  const CostFunction& cost_of = environment.services->cost_of;
  return cost_of && cost_of(model, 0, 0).has_value();
}

// Used when the provider reports no usage.
Usage EstimateUsage(const models::ModelRequest& request, size_t reply_bytes) {
  Usage usage;
  usage.prompt_tokens = EstimateInput(request);
  usage.completion_tokens = static_cast<int64_t>(reply_bytes / kBytesOfToken);
  usage.total_tokens = usage.prompt_tokens + usage.completion_tokens;
  return usage;
}

}  // namespace

[[gnu::noinline]] Status NoSuchModel(const std::string& model) {
  return Status(StatusCode::kModel, "model \"" + model + "\" is not configured");
}

int64_t CostOf(const RunEnvironment& environment, const std::string& model, const Usage& usage) {
  const CostFunction& cost_of = environment.services->cost_of;
  if (!cost_of) return 0;
  return cost_of(model, usage.prompt_tokens, usage.completion_tokens).value_or(0);
}

namespace {

// The functions below are not inlined, so that the stack of a run that waits for its model has no
// room for what happens before and after the call.

// Checks budgets and shortens the deadline to that of the run's budget, which it returns.
[[gnu::noinline]] Result<Deadline> BeginCall(const RunEnvironment& environment,
                                             const std::string& model,
                                             models::ModelRequest& request) {
  if (environment.services->check_tokens) {
    AG_RETURN_IF_ERROR(environment.services->check_tokens(environment.user_id));
  }
  RunMeter* const meter = environment.meter.get();
  if (meter == nullptr) return kNoDeadline;
  AG_RETURN_IF_ERROR(meter->BeginModelCall(model, HasPrice(environment, model)));
  request.deadline = std::min(request.deadline, meter->deadline());
  return meter->deadline();
}

// Counts the call. Sets the failure of a call that the time limit of the run's budget has cut off.
[[gnu::noinline]] void CountCall(const RunEnvironment& environment,
                                 const models::ModelRequest& request, Deadline budget_end,
                                 CallInProgress& call, size_t bytes, MeteredReply& metered) {
  Result<models::ModelReply>& reply = metered.reply;
  RunMeter* const meter = environment.meter.get();
  const bool counts_user = static_cast<bool>(environment.services->check_tokens);
  // A failure is ignored here and kept by the meter, so that a complete reply is not lost.
  if (reply.ok() && reply->message.usage) {
    (void)call.Report(*reply->message.usage);
  } else if ((meter != nullptr || counts_user) && !call.reported() && (reply.ok() || bytes > 0)) {
    (void)call.Report(EstimateUsage(request, bytes));
  }
  if (counts_user) {
    environment.services->charge_tokens(environment.user_id, Tokens(call.usage()));
  }
  const bool late = !reply.ok() && reply.status().code() == StatusCode::kDeadlineExceeded;
  if (late && meter != nullptr && MonotonicClock::now() >= budget_end) reply = meter->EndOfTime();
  metered.usage = call.usage();
  metered.cost_nano_usd = call.cost();
}

[[gnu::noinline]] MeteredReply CallAndCount(
    const RunEnvironment& environment, const std::string& model,
    const models::ModelRequest& request, Deadline budget_end,
    const std::function<Status(const models::ModelDelta&)>& on_delta) {
  CallInProgress call(environment, model);
  size_t bytes = 0;
  const auto deliver = [&](const models::ModelDelta& delta) {
    bytes += delta.text.size() + delta.reasoning.size();
    if (delta.usage) AG_RETURN_IF_ERROR(call.Report(*delta.usage));
    return delta.bytes() > 0 ? on_delta(delta) : Status::Ok();
  };
  MeteredReply metered{
      environment.FindModel(model)->Generate(request, environment.cancellation, deliver)};
  CountCall(environment, request, budget_end, call, bytes, metered);
  return metered;
}

}  // namespace

MeteredReply CallModel(const RunEnvironment& environment, const std::string& model,
                       models::ModelRequest&& request,
                       const std::function<Status(const models::ModelDelta&)>& on_delta) {
  if (environment.FindModel(model) == nullptr) return {NoSuchModel(model)};
  const Result<Deadline> budget_end = BeginCall(environment, model, request);
  if (!budget_end.ok()) return {budget_end.status()};
  return CallAndCount(environment, model, request, *budget_end, on_delta);
}

}  // namespace agent_graph::run
