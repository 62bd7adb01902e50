// References to environment variables in configuration: ${NAME}.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace agent_graph {

// As captured when the configuration was read; a worker's own is empty.
using Environment = std::map<std::string, std::string, std::less<>>;

bool IsVariableName(std::string_view name);

// Replaces each ${NAME} by its value and ${NAME:-text} by `text` where NAME is unset or empty. An
// unset NAME without a default is an error. `values`, when given, gets what came from the
// environment: secrets, as far as anybody can tell.
Result<std::string> ExpandVariables(std::string_view text, const Environment& environment,
                                    std::vector<std::string>* values = nullptr);

// Replaces each of `secrets` by "***"; ones too short to be told from ordinary text stay.
void BlotOut(const std::vector<std::string>& secrets, std::string& text);

}  // namespace agent_graph
