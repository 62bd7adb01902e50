// Counts what a run uses, and ends it when its budget is used up.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "agent_graph/json_fwd.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"

namespace agent_graph::run {

// Limits on what one run may use, over all of its attempts: `config.budget`. nullopt: no limit.
struct RunBudget {
  std::optional<int64_t> tokens;  // input and output of all model calls
  std::optional<int64_t> model_calls;
  std::optional<int64_t> tool_calls;
  std::optional<int64_t> cost_nano_usd;
  std::optional<int64_t> seconds;  // time since the run's first attempt began

  bool limits_anything() const {
    return tokens || model_calls || tool_calls || cost_nano_usd || seconds;
  }
};

inline constexpr double kNanosPerUsd = 1e9;

// Reads the member `budget` of a checked config. Values that are no limits are ignored.
RunBudget ReadBudget(const json& config);

// Usage of a run.
struct RunConsumption {
  int64_t tokens = 0;
  int64_t model_calls = 0;
  int64_t tool_calls = 0;
  int64_t cost_nano_usd = 0;
};

// Thread-safe: the functions of a run may call models on threads of their own. Failures are
// kBudgetExceeded; the first one is kept, and ends the run.
class RunMeter {
 public:
  RunMeter(const RunBudget& budget, int64_t started_micros);

  // Adds what the earlier attempts of the run have used. `started_micros`: start of the first one.
  void AddEarlier(const RunConsumption& used, int64_t started_micros);

  // Ok if another model call may begin; it then counts.
  Status BeginModelCall(const std::string& model, bool has_price);
  // Ok if so many tool calls may begin; they then count.
  Status BeginToolCalls(int64_t calls);
  // Counts tokens and their cost. A failure ends a model call that is in progress.
  Status Use(int64_t tokens, int64_t cost_nano_usd);
  // The time at which a model call in progress ends.
  Deadline deadline() const;
  // Reports that a model call has ended because of that deadline.
  Status EndOfTime();
  // The first failure; Ok: there was none.
  Status status() const;

 private:
  Status Exceeded(std::string reason) AG_REQUIRES(mutex_);
  // Checks tokens and cost; `at_limit`: a budget that is used up to its end is a failure, too.
  Status CheckUse(bool at_limit) AG_REQUIRES(mutex_);
  Status CheckTime() AG_REQUIRES(mutex_);

  const RunBudget budget_;
  mutable Mutex mutex_;
  RunConsumption used_ AG_GUARDED_BY(mutex_);
  int64_t started_micros_ AG_GUARDED_BY(mutex_);
  Status status_ AG_GUARDED_BY(mutex_);
};

// Reads the budget of a checked config; its seconds pass from now on. Null: nothing is limited.
std::shared_ptr<RunMeter> StartMeter(const json& config);

}  // namespace agent_graph::run
