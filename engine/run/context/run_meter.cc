#include "run/context/run_meter.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "agent_graph/json.h"

namespace agent_graph::run {
namespace {

std::optional<int64_t> CountAt(const json& budget, const char* name) {
  const auto found = budget.find(name);
  if (found == budget.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  if (!(value >= 1) || value >= 9e18) return std::nullopt;
  return static_cast<int64_t>(value);
}

std::string Dollars(int64_t nanos) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g USD", static_cast<double>(nanos) / kNanosPerUsd);
  return text;
}

std::string UsedUp(const std::string& limit) {
  return "the run has used up its budget of " + limit;
}

}  // namespace

RunBudget ReadBudget(const json& config) {
  RunBudget budget;
  if (!config.is_object()) return budget;
  const auto found = config.find("budget");
  if (found == config.end() || !found->is_object()) return budget;
  budget.tokens = CountAt(*found, "tokens");
  budget.model_calls = CountAt(*found, "model_calls");
  budget.tool_calls = CountAt(*found, "tool_calls");
  budget.seconds = CountAt(*found, "seconds");
  const auto cost = found->find("cost_usd");
  if (cost != found->end() && cost->is_number()) {
    const double nanos = cost->get<double>() * kNanosPerUsd;
    if (nanos > 0 && nanos < 9e18) {
      budget.cost_nano_usd = std::max<int64_t>(1, std::llround(nanos));
    }
  }
  return budget;
}

std::shared_ptr<RunMeter> StartMeter(const json& config) {
  const RunBudget budget = ReadBudget(config);
  return budget.limits_anything() ? std::make_shared<RunMeter>(budget, UnixMicros()) : nullptr;
}

RunMeter::RunMeter(const RunBudget& budget, int64_t started_micros)
    : budget_(budget), started_micros_(started_micros) {}

void RunMeter::AddEarlier(const RunConsumption& used, int64_t started_micros) {
  MutexLock lock(mutex_);
  used_.tokens += used.tokens;
  used_.model_calls += used.model_calls;
  used_.tool_calls += used.tool_calls;
  used_.cost_nano_usd += used.cost_nano_usd;
  started_micros_ = std::min(started_micros_, started_micros);
}

Status RunMeter::BeginModelCall(const std::string& model, bool has_price) {
  MutexLock lock(mutex_);
  AG_RETURN_IF_ERROR(status_);
  AG_RETURN_IF_ERROR(CheckTime());
  AG_RETURN_IF_ERROR(CheckUse(/*at_limit=*/true));
  if (budget_.cost_nano_usd && !has_price) {
    return Exceeded("the run has a budget in USD, and model \"" + model + "\" has no price");
  }
  if (budget_.model_calls && used_.model_calls >= *budget_.model_calls) {
    return Exceeded(UsedUp(std::to_string(*budget_.model_calls) + " model calls"));
  }
  ++used_.model_calls;
  return Status::Ok();
}

Status RunMeter::BeginToolCalls(int64_t calls) {
  MutexLock lock(mutex_);
  AG_RETURN_IF_ERROR(status_);
  if (budget_.tool_calls && calls > *budget_.tool_calls - used_.tool_calls) {
    return Exceeded(UsedUp(std::to_string(*budget_.tool_calls) + " tool calls"));
  }
  used_.tool_calls += calls;
  return Status::Ok();
}

Status RunMeter::Use(int64_t tokens, int64_t cost_nano_usd) {
  MutexLock lock(mutex_);
  used_.tokens += tokens;
  used_.cost_nano_usd += cost_nano_usd;
  AG_RETURN_IF_ERROR(status_);
  return CheckUse(/*at_limit=*/false);
}

Deadline RunMeter::deadline() const {
  if (!budget_.seconds) return kNoDeadline;
  MutexLock lock(mutex_);
  const int64_t used_micros = std::max<int64_t>(0, UnixMicros() - started_micros_);
  // Half of what the clock can reach, because the deadline is that much later than now.
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / kMicrosPerSecond / 1000 / 2;
  const int64_t left = std::min(*budget_.seconds, kMost) * kMicrosPerSecond - used_micros;
  return DeadlineAfter(std::chrono::ceil<std::chrono::milliseconds>(
      std::chrono::microseconds(std::max<int64_t>(0, left))));
}

Status RunMeter::EndOfTime() {
  MutexLock lock(mutex_);
  AG_RETURN_IF_ERROR(status_);
  return Exceeded(UsedUp(std::to_string(budget_.seconds.value_or(0)) + " seconds"));
}

Status RunMeter::status() const {
  MutexLock lock(mutex_);
  return status_;
}

Status RunMeter::CheckUse(bool at_limit) {
  const auto over = [at_limit](int64_t used, const std::optional<int64_t>& limit) {
    return limit && (used > *limit || (at_limit && used == *limit));
  };
  if (over(used_.tokens, budget_.tokens)) {
    return Exceeded(UsedUp(std::to_string(*budget_.tokens) + " tokens"));
  }
  if (over(used_.cost_nano_usd, budget_.cost_nano_usd)) {
    return Exceeded(UsedUp(Dollars(*budget_.cost_nano_usd)));
  }
  return Status::Ok();
}

Status RunMeter::CheckTime() {
  if (!budget_.seconds) return Status::Ok();
  const int64_t used_micros = std::max<int64_t>(0, UnixMicros() - started_micros_);
  if (used_micros / kMicrosPerSecond < *budget_.seconds) return Status::Ok();
  return Exceeded(UsedUp(std::to_string(*budget_.seconds) + " seconds"));
}

Status RunMeter::Exceeded(std::string reason) {
  status_ = Status(StatusCode::kBudgetExceeded, std::move(reason));
  return status_;
}

}  // namespace agent_graph::run
