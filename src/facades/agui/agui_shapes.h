// The request of AG-UI, RunAgentInput: a body is checked against this table before its handler
// runs.
#pragma once

#include <span>

#include "api/http/fields.h"

namespace agent_graph::agui {

extern const api::FieldTable kRunAgentInput;

// `config` in `forwardedProps`: how the service executes the run.
extern const std::span<const api::Field> kConfigFields;

}  // namespace agent_graph::agui
