// Histograms of durations in shared memory: one table per service, to which all workers add. The
// table is kept over reloads, and the counts of a worker remain when it ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/duration_histogram.h"
#include "base/named_durations.h"
#include "ngx_module/config.h"
#include "ngx_module/status/status_rows.h"

namespace agent_graph::nginx {

enum class DurationKind : uint8_t {
  kRequest,         // by route
  kFirstChunk,      // by route
  kModelCall,       // by model
  kToolCall,        // by tool
  kStateOperation,  // one histogram without a name
  kDatabaseCommit,  // likewise
  kCount
};

// The durations of one name, for the status page.
struct NamedCounts {
  std::string name;
  DurationCounts counts;
};

// Requests memory for the service. False: failed, and the reason was logged.
bool AddDurationZone(ngx_conf_t* cf, ServiceConfig& service);

// Counts one duration of a request. Nothing here waits for another process.
void CountDuration(const ServiceConfig& service, DurationKind kind, RouteClass route,
                   int64_t micros);
// The histograms of one kind that have counted something.
std::vector<NamedCounts> ReadDurations(const ServiceConfig& service, DurationKind kind);

// Adds to the shared table what a worker's engine counts. Used by the event loop's thread only.
class DurationReporter {
 public:
  DurationReporter(const ServiceConfig& service, DurationKind kind)
      : service_(service), kind_(kind) {}

  // Adds the counts since the last call. Counts of a new name are added with the next call if
  // another process is adding names at this moment.
  void Report(const NamedDurations& counted);
  void Report(const DurationHistogram& counted);  // for a kind without names

 private:
  struct Source {
    uint32_t slot = 0;
    bool has_slot = false;
    DurationCounts reported;
  };

  void Report(const DurationHistogram& counted, std::string_view name, Source& source);

  const ServiceConfig& service_;
  const DurationKind kind_;
  std::vector<Source> sources_;
};

}  // namespace agent_graph::nginx
