// Options for the engine threads of a worker, from its settings.
#pragma once

#include "bridge/outbox.h"
#include "runtime/runtime.h"
#include "service/service.h"
#include "settings/settings.h"

namespace agent_graph::service {

// `log` must outlive the runtime.
runtime::RuntimeOptions ToRuntimeOptions(const settings::Settings& settings,
                                         const ServiceOptions& options, bridge::Outbox& log);

}  // namespace agent_graph::service
