// Boost.JSON's parser behind the interface of nlohmann's handlers: it reads the same texts in a
// third of the time.
#pragma once

#include <string_view>

#include "agent_graph/json.h"

namespace agent_graph {

// Calls `to` for each token of the text. False: the text is not JSON, `to` has ended it, or
// nlohmann's parser might read it differently; `to` has then received a part of it. Never calls
// `to.parse_error`.
bool ReadJsonTokens(std::string_view text, nlohmann::json_sax<json>& to);

}  // namespace agent_graph
