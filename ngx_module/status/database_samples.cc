#include "ngx_module/status/database_samples.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <string_view>

#include "base/clock.h"

namespace agent_graph::nginx {
namespace {

using Samples = std::vector<MetricSample>;

struct NamedValue {
  std::string_view name;
  DatabaseValue value;
};
Samples DatabaseSamples(const ServiceStatus& service, std::string_view label,
                        std::span<const NamedValue> values) {
  Samples samples;
  for (const NamedValue& each : values) {
    for (MetricSample& sample : DatabaseSampleOf(service, each.value)) {
      samples.push_back({MetricLabel(label, each.name), std::string(each.name), sample.value});
    }
  }
  return samples;
}

}  // namespace

// The sample of one value; none if it is unknown, or if the service has no such database.
Samples DatabaseSampleOf(const ServiceStatus& service, DatabaseValue value) {
  if (service.database.empty()) return {};
  const uint64_t number = service.database[static_cast<size_t>(value)];
  if (number == state::DatabaseStatus::kUnknown) return {};
  return {{"", "", number}};
}

Samples DatabaseFailures(const ServiceStatus& service) {
  constexpr NamedValue kFailures[] = {{"connect", DatabaseValue::kFailedAttempts},
                                      {"lost", DatabaseValue::kLostSessions},
                                      {"timeout", DatabaseValue::kTimeouts}};
  return DatabaseSamples(service, "kind", kFailures);
}

Samples DatabaseReaders(const ServiceStatus& service) {
  constexpr NamedValue kReaders[] = {{"busy", DatabaseValue::kReadersBusy},
                                     {"waiting", DatabaseValue::kReadersAwaited}};
  return DatabaseSamples(service, "state", kReaders);
}

Samples DatabaseLinkMessages(const ServiceStatus& service) {
  constexpr NamedValue kMessages[] = {{"sent", DatabaseValue::kLinkSent},
                                      {"received", DatabaseValue::kLinkReceived},
                                      {"dropped", DatabaseValue::kLinkDropped}};
  return DatabaseSamples(service, "kind", kMessages);
}

// Computed here, so that it grows when the process that reports has stopped.
Samples DatabaseBeatAge(const ServiceStatus& service) {
  Samples samples = DatabaseSampleOf(service, DatabaseValue::kLastBeatMicros);
  if (samples.empty() || samples[0].value == 0) return {};
  const auto now = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                             MonotonicClock::now().time_since_epoch())
                                             .count());
  samples[0].value = now - std::min(now, samples[0].value);
  return samples;
}

}  // namespace agent_graph::nginx
