// References to environment variables in configuration: ${NAME}.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "base/status.h"

namespace agent_graph {

// The variables captured when the configuration was read. A worker's own environment is empty.
using Environment = std::map<std::string, std::string, std::less<>>;

bool IsVariableName(std::string_view name);

// Replaces each ${NAME} by its value, and ${NAME:-text} by `text` if NAME is unset or empty. An
// unset NAME without a default, and a text that is only $NAME, are errors. `values`, if given,
// receives the values taken from the environment: treat them as secrets.
Result<std::string> ExpandVariables(std::string_view text, const Environment& environment,
                                    std::vector<std::string>* values = nullptr);

// Replaces each of `secrets` in `text` by "***". Secrets that are too short to be distinguished
// from ordinary text stay.
void BlotOut(const std::vector<std::string>& secrets, std::string& text);
// The same for a text whose end was cut off: an end that may be the beginning of a secret is
// replaced, too.
void BlotOutOfCutText(const std::vector<std::string>& secrets, std::string& text);
// The same for all texts and member names in `value`, and for numbers.
void BlotOut(const std::vector<std::string>& secrets, json& value);

}  // namespace agent_graph
