// Conversions of the answers of a run that several façades need.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "agent_graph/message.h"

namespace agent_graph::facades {

void AddUsage(const Usage& more, Usage& sum);

// Why the model call of a message ended, as its provider reports it; empty: not known.
std::string StopReasonOf(const Message& message);

// The rest of `text` behind the bytes that were shown; empty if it is another text.
std::string_view RestOf(std::string_view text, size_t shown);

}  // namespace agent_graph::facades
