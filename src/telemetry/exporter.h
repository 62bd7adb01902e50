// Exports finished runs to an OpenTelemetry collector: OTLP over HTTP in JSON.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "net/http_client.h"
#include "run/log/run_record.h"
#include "runtime/cancellation.h"
#include "runtime/signal.h"
#include "settings/settings.h"
#include "telemetry/run_spans.h"

namespace agent_graph::runtime {
class Runtime;
}

namespace agent_graph::telemetry {

// Runs offer their records and continue; one fiber converts them to spans and sends them in
// batches. The queue is limited in bytes. If the collector is slow or unreachable, runs are dropped
// from the export, and a warning reports how many.
class Exporter {
 public:
  using LogFunction = std::function<void(const std::string& line)>;

  // `warn` is called from any engine thread.
  Exporter(const settings::Settings& settings, LogFunction warn);
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  // Starts the fiber, which runs until Close. The fiber uses this object: stop the runtime before
  // destroying it.
  void Start(runtime::Runtime& runtime);
  // Queues a record, or drops it if the queue is full. Thread-safe; never blocks.
  void Offer(run::RunRecord record);
  // Ends the fiber after it has sent the queue, for at most `timeout`. Returns at once.
  void Close(runtime::Runtime& runtime, std::chrono::milliseconds timeout);

 private:
  struct Batch {
    std::deque<run::RunRecord> records;
    size_t bytes = 0;
  };

  void Run(runtime::Runtime& runtime);
  bool IsSampled(const run::RunRecord& record) const;
  bool IsClosing();
  bool WaitForWork();
  void Pause(std::chrono::milliseconds delay);
  Batch TakeBatch();
  void Send(const Batch& batch, runtime::Runtime& runtime);
  // The state of an attempt to send a batch. The caller sets `last`, Post the other members.
  struct Try {
    bool last = false;
    bool again = false;  // another attempt may succeed
    int sends = 0;
    std::chrono::milliseconds delay;  // before the next attempt
  };
  // Sends a batch once. Ok, or the reason why the collector has not received it.
  Status Post(const std::string& body, Try& state);
  void ReportDropped();

  const settings::ObservabilitySettings options_;
  const ModelIdentities models_;
  const Attributes resource_;
  const net::HttpClient client_;
  const LogFunction warn_;
  const runtime::Cancellation cancellation_;  // cancels requests if closing takes too long

  Mutex mutex_;
  Batch queue_ AG_GUARDED_BY(mutex_);
  bool closing_ AG_GUARDED_BY(mutex_) = false;
  Deadline close_by_ AG_GUARDED_BY(mutex_) = kNoDeadline;
  uint64_t dropped_ AG_GUARDED_BY(mutex_) = 0;  // since the last warning

  // Used by the fiber only.
  std::string failure_;  // of the last batch that was dropped since the last warning
  Deadline next_warning_ = {};

  runtime::Signal wake_;   // there is something to do
  runtime::Signal ended_;  // the fiber has done its last
};

}  // namespace agent_graph::telemetry
