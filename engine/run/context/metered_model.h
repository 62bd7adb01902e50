// Calls a model for a run. All model calls of runs go through here, so that all of them count.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "agent_graph/message.h"
#include "base/status.h"
#include "models/model.h"
#include "run/run_environment.h"

namespace agent_graph::run {

struct MeteredReply {
  Result<models::ModelReply> reply;
  // The usage that the provider reported, also if the call failed later. Without a report: an
  // estimate if the tokens of the run or of its user are limited, otherwise zero.
  Usage usage = {};
  int64_t cost_nano_usd = 0;  // 0 if the model has no price
};

// Calls the model of that name; see ModelProvider::Generate. Fails with kBudgetExceeded if the
// run's budget is used up, before the call or during it, or the user's tokens before it. A reply
// that is complete is returned in any case; the budget then ends the run after its node. `on_delta`
// receives pieces of text only.
MeteredReply CallModel(const RunEnvironment& environment, const std::string& model,
                       models::ModelRequest&& request,
                       const std::function<Status(const models::ModelDelta&)>& on_delta);

// The failure of a call of a model that the configuration does not have.
Status NoSuchModel(const std::string& model);

// The cost of these tokens; 0 if the model has no price.
int64_t CostOf(const RunEnvironment& environment, const std::string& model, const Usage& usage);

}  // namespace agent_graph::run
