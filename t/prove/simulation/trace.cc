#include "prove/simulation/trace.h"

#include <cstdio>

#include "prove/simulation/virtual_time.h"

namespace agent_graph::simulation {
namespace {

bool shown = false;
int64_t began = 0;

}  // namespace

void ShowTrace() {
  shown = true;
  ResetTime();
  began = NowMicros();
}

bool IsTraceShown() {
  return shown;
}

void WriteTrace(const std::string& line) {
  std::printf("%8lld ms  %s\n", static_cast<long long>((NowMicros() - began) / 1000), line.c_str());
}

}  // namespace agent_graph::simulation
