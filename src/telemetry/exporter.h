// Sends finished runs to an OpenTelemetry collector, as OTLP over HTTP in JSON.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "net/http_client.h"
#include "run/run_record.h"
#include "runtime/cancellation.h"
#include "runtime/signal.h"
#include "settings/settings.h"
#include "telemetry/run_spans.h"

namespace agent_graph::runtime {
class Runtime;
}

namespace agent_graph::telemetry {

// Runs hand over what they did and go on; one fiber turns it into spans and sends them in batches.
// The queue is bounded by bytes: when the collector is slow or gone, runs are left out of the
// export, and a warning says how many.
class Exporter {
 public:
  using LogFunction = std::function<void(const std::string& line)>;

  // `warn` is called from any engine thread.
  Exporter(const settings::Settings& settings, LogFunction warn);
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  // Spawns the fiber, which lives until Close. It uses this object: stop the runtime before
  // destroying it.
  void Start(runtime::Runtime& runtime);
  // Thread-safe; never waits.
  void Offer(run::RunRecord record);
  // Has what is queued sent, for at most `patience`, and the fiber end. Returns at once.
  void Close(runtime::Runtime& runtime, std::chrono::milliseconds patience);

 private:
  struct Batch {
    std::deque<run::RunRecord> records;
    size_t bytes = 0;
  };

  void Run(runtime::Runtime& runtime);
  bool WaitForWork();
  Batch TakeBatch();
  void Send(const Batch& batch, runtime::Runtime& runtime);
  // Ok, or why the collector has not got it; `again` when the same may succeed later.
  // One try of sending a batch: `last` is set by the caller, the rest by Post.
  struct Try {
    bool last = false;
    bool again = false;  // worth another try
    int sends = 0;
    std::chrono::milliseconds delay;  // until the next one
  };
  Status Post(const std::string& body, Try& state);
  void ReportDropped();

  const settings::ObservabilitySettings options_;
  const ModelIdentities models_;
  const Attributes resource_;
  const net::HttpClient client_;
  const LogFunction warn_;
  const runtime::Cancellation cancellation_;  // of requests, when closing takes too long

  std::mutex mutex_;
  Batch queue_;                      // guarded by mutex_
  bool closing_ = false;             // guarded by mutex_
  Deadline close_by_ = kNoDeadline;  // guarded by mutex_
  uint64_t dropped_ = 0;             // guarded by mutex_; since the last warning
  Deadline next_warning_ = {};       // of the fiber
  runtime::Signal wake_;             // there is something to do
  runtime::Signal ended_;            // the fiber has done its last
};

}  // namespace agent_graph::telemetry
