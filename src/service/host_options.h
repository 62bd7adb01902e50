// Options for the runs of a worker, from its settings.
#pragma once

#include <memory>

#include "auth/guard.h"
#include "base/status.h"
#include "bridge/worker_memory.h"
#include "limits/user_tokens.h"
#include "run/host/run_host.h"
#include "run/run_environment.h"
#include "run/run_request.h"
#include "runtime/cancellation.h"
#include "settings/settings.h"

namespace agent_graph::service {

// `memory` must outlive the host. The log is not set.
run::RunHostOptions HostOptions(const settings::Settings& settings, bridge::WorkerMemory& memory);

// Sets the prices of models and the limit on the tokens of users. `user_tokens` is filled before
// the first run if the settings have such a limit. All must outlive the runs.
void SetRunLimits(const settings::Settings& settings,
                  const std::unique_ptr<limits::UserTokens>& user_tokens,
                  run::RunServices& services);

// Asks again whether the user of an accepted run may execute it. Call on a fiber.
Status AuthorizeAgain(auth::Guard& guard, const run::RunRequest& request,
                      const runtime::Cancellation& cancellation);

}  // namespace agent_graph::service
