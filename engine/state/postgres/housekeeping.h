// Removes what no host needs any more: one host does it for all. Also measures the database, for
// the metrics of each host.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "state/database_status.h"
#include "state/postgres/database/connection.h"
#include "state/postgres/row_sweep.h"

namespace agent_graph::state::postgres {

// Removes instances that have been dead for an hour and have neither leases nor waiting runs.
Command RemoveUnusedInstances();

// Start and Stop belong to one thread; the work is done on a thread of its own.
class Housekeeping {
 public:
  static constexpr std::chrono::seconds kInterval{60};
  static constexpr std::chrono::seconds kMeasureInterval{15};
  // Less than the interval at which each host asks, so that none is left out.
  static constexpr std::chrono::seconds kSweepPause{10};

  using Warn = std::function<void(const std::string& text)>;

  // `warn` is called on the thread of the work.
  Housekeeping(ConnectionOptions options, std::string instance,
               std::shared_ptr<DatabaseStatus> status, Warn warn);
  ~Housekeeping();

  Status Start();
  void Stop();
  // Does the work if it is due and no other host does it. Warns if the database refuses it, unless
  // it did the last time, too. Call only before Start.
  Status Tidy();
  // Deletes what deleted threads and cut logs have left, until nothing is left or the time is over,
  // if no other host does it. Warns like Tidy. Call only before Start.
  Status Sweep(Deadline until);
  // Reads how far standbys are behind, and the number of dead rows. Call only before Start.
  void Measure();

 private:
  void Run();
  Status TidyIfDue();
  Status SweepIfDue(Deadline until);
  // Warns of a failure, unless `failing` is already true.
  void Report(const Status& done, bool& failing);

  Connection connection_;  // its thread, after Start
  const std::string instance_;
  const std::shared_ptr<DatabaseStatus> status_;
  const Warn warn_;
  RowSweep sweep_{connection_};
  bool tidy_fails_ = false;  // the last Tidy has warned, or would have
  bool sweep_fails_ = false;
  Mutex mutex_;
  CondVar stop_;
  bool stopping_ AG_GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace agent_graph::state::postgres
