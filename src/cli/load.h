// A closed loop of requests against an agent, and what it measures.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace agent_graph::cli {

struct LoadOptions {
  size_t requests = 0;
  size_t concurrency = 1;
};

// One request: from its beginning to its first text and to its end.
struct Measured {
  Duration first_text{0};
  Duration total{0};
};

// Makes one request of the client with the number `client`.
using MakeRequest = std::function<Result<Measured>(size_t client)>;

struct LoadReport {
  std::vector<Measured> done;
  size_t failed = 0;
  Status first_failure;
  Duration elapsed{0};
};

// `concurrency` threads make requests, each the next one as soon as the one before has ended.
LoadReport RunLoad(const LoadOptions& options, const MakeRequest& make_request);

// The value below which `share` (0 to 1) of the sorted values lie; zero if there are none.
Duration Percentile(const std::vector<Duration>& sorted, double share);

std::string ReportText(const LoadReport& report);

}  // namespace agent_graph::cli
