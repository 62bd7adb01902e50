// The log entry of a model call.
#pragma once

#include <cstdint>
#include <string>

#include "run/context/metered_model.h"
#include "run/log/log_entry.h"

namespace agent_graph::run {

// `node` has called the model; empty: the run itself. `message_id`: the id that its reply has, if
// there is one.
EntryBody ModelCallEntry(const std::string& node, const std::string& model_name,
                         const std::string& message_id, const MeteredReply& call,
                         int64_t duration_micros);

}  // namespace agent_graph::run
