#include "run/context/metered_model.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "run/context/context_window.h"
#include "run/context/run_meter.h"

namespace agent_graph::run {
namespace {

constexpr size_t kBytesPerToken = 4;
// A price is in USD for a million tokens.
constexpr double kNanosPerTokenOfPrice = kNanosPerUsd / 1e6;

int64_t EstimateInput(const models::ModelRequest& request) {
  size_t tokens = request.system_prompt.size() / kBytesPerToken;
  for (const Message& message : request.messages) tokens += EstimateTokens(message);
  return static_cast<int64_t>(tokens);
}

int64_t Tokens(const Usage& usage) {
  return std::max<int64_t>(0, usage.prompt_tokens) + std::max<int64_t>(0, usage.completion_tokens);
}

// One call: tells the meter what the call has used since the last report.
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

std::optional<models::TokenPrice> PriceOf(const RunEnvironment& environment,
                                          const std::string& model) {
  const auto& find_price = environment.services->find_price;
  return find_price ? find_price(model) : std::nullopt;
}

// Without a report of the provider.
Usage EstimateUsage(const models::ModelRequest& request, size_t reply_bytes) {
  Usage usage;
  usage.prompt_tokens = EstimateInput(request);
  usage.completion_tokens = static_cast<int64_t>(reply_bytes / kBytesPerToken);
  usage.total_tokens = usage.prompt_tokens + usage.completion_tokens;
  return usage;
}

}  // namespace

int64_t CostOf(const RunEnvironment& environment, const std::string& model, const Usage& usage) {
  const std::optional<models::TokenPrice> price = PriceOf(environment, model);
  if (!price) return 0;
  const double nanos = (static_cast<double>(usage.prompt_tokens) * price->input +
                        static_cast<double>(usage.completion_tokens) * price->output) *
                       kNanosPerTokenOfPrice;
  return nanos > 0 ? std::llround(std::min(nanos, 9e18)) : 0;
}

MeteredReply CallModel(const RunEnvironment& environment, const std::string& model,
                       models::ModelRequest request,
                       const std::function<Status(const models::ModelDelta&)>& on_delta) {
  models::ModelProvider* provider = environment.FindModel(model);
  if (provider == nullptr) {
    return {Status(StatusCode::kModel, "model \"" + model + "\" is not configured")};
  }
  RunMeter* const meter = environment.meter.get();
  Deadline budget_end = kNoDeadline;
  if (meter != nullptr) {
    Status may = meter->BeginModelCall(model, PriceOf(environment, model).has_value());
    if (!may.ok()) return {std::move(may)};
    budget_end = meter->deadline();
    request.deadline = std::min(request.deadline, budget_end);
  }
  CallInProgress call(environment, model);
  size_t bytes = 0;
  const auto deliver = [&](const models::ModelDelta& delta) {
    bytes += delta.text.size() + delta.reasoning.size();
    if (delta.usage) AG_RETURN_IF_ERROR(call.Report(*delta.usage));
    if (delta.text.empty() && delta.reasoning.empty()) return Status::Ok();
    return on_delta(delta);
  };
  Result<models::ModelReply> reply = provider->Generate(request, environment.cancellation, deliver);
  // The meter keeps a failure: a reply that is complete is not lost for it.
  if (reply.ok() && reply->message.usage) {
    (void)call.Report(*reply->message.usage);
  } else if (meter != nullptr && !call.reported() && (reply.ok() || bytes > 0)) {
    (void)call.Report(EstimateUsage(request, bytes));
  }
  const bool late = !reply.ok() && reply.status().code() == StatusCode::kDeadlineExceeded;
  if (late && meter != nullptr && MonotonicClock::now() >= budget_end) reply = meter->EndOfTime();
  return {std::move(reply), call.usage(), call.cost()};
}

}  // namespace agent_graph::run
