// The events of a run as a projection of its log: what a client sees of each stored entry.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "run/log/log_entry.h"
#include "run/run_sink.h"

namespace agent_graph::run {

// The code with this name in a log or a record; kInternal for an unknown name.
StatusCode CodeNamed(std::string_view name);

// Returns the JSON of a stored message; kNotFound if it was deleted.
using MessageLookup = std::function<Result<std::string>(const std::string& message_id)>;

// Returns the event that a client receives for the entry: a message (kMessage), or the error that
// ended the run (kError). nullopt: none. Messages of the request are not echoed, except for results
// of tools, as in a direct stream. `step`: that of the last node_started entry before. A message
// that was deleted has no event. RunEvent::log_end is not set. Fails only as `message` does.
Result<std::optional<RunEvent>> EventOf(const EntryBody& body, int step,
                                        const MessageLookup& message);

}  // namespace agent_graph::run
