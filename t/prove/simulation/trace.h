// Prints the events of a schedule, one per line, to find the cause of a violation.
#pragma once

#include <string>

namespace agent_graph::simulation {

void ShowTrace();
bool IsTraceShown();
void WriteTrace(const std::string& line);

// `line` returns the text; it is called only if the trace is shown.
template <typename Line>
void Trace(const Line& line) {
  if (IsTraceShown()) WriteTrace(line());
}

}  // namespace agent_graph::simulation
