#include "service/host_options.h"

#include <algorithm>
#include <cstddef>

#include "agent_graph/json.h"
#include "api/http/request_memory.h"

namespace agent_graph::service {
namespace {

// Accepted runs share the fibers with the runs of connected clients (limits.runs_max), which have
// some to spare. The state gives further ones to other workers.
constexpr size_t kShareOfRuns = 4;

}  // namespace

run::RunHostOptions HostOptions(const settings::Settings& settings, bridge::WorkerMemory& memory) {
  run::RunHostOptions options;
  options.runs_max = std::max<size_t>(settings.limits.runs_max / kShareOfRuns, 1);
  options.starts_max = settings.recovery.concurrency;
  options.memory_of = api::RunMemory;
  options.count_bytes = [&memory](int64_t bytes) { memory.CountHeld(bytes); };
  options.await_bytes = [&memory](uint64_t bytes, uint64_t own_bytes,
                                  const runtime::Cancellation& cancellation, Deadline deadline) {
    return memory.AwaitRoom(bytes, cancellation, deadline, own_bytes);
  };
  return options;
}

void SetRunLimits(const settings::Settings& settings,
                  const std::unique_ptr<limits::UserTokens>& user_tokens,
                  run::RunServices& services) {
  services.cost_of = [&settings](const std::string& model, int64_t input, int64_t output) {
    const auto price = settings.PriceOf(model);
    return price ? std::optional(price->CostOf(input, output)) : std::nullopt;
  };
  if (!settings.token_limit) return;
  services.check_tokens = [&user_tokens](const std::string& user) {
    return user_tokens->Check(user);
  };
  services.charge_tokens = [&user_tokens](const std::string& user, int64_t tokens) {
    user_tokens->Charge(user, tokens);
  };
}

Status AuthorizeAgain(auth::Guard& guard, const run::RunRequest& request,
                      const runtime::Cancellation& cancellation) {
  static const json kNothing = json::object();
  const bool streams = request.action == auth::NameOf(auth::Action::kStream);
  // Requests of older builds have none.
  if (!streams && !request.action.empty() &&
      request.action != auth::NameOf(auth::Action::kInvoke)) {
    return Status(StatusCode::kDataLoss, "the stored request of the run cannot be read: action");
  }
  return guard.AuthorizeStored(
      {.user = request.user != nullptr ? *request.user : kNothing,
       .user_id = request.user_id,
       .permission = {auth::Resource::kGraph,
                      streams ? auth::Action::kStream : auth::Action::kInvoke},
       .thread_id = request.thread_id,
       .config = request.config != nullptr ? *request.config : kNothing,
       .cancellation = cancellation});
}

}  // namespace agent_graph::service
