// The leases of threads as the store keeps them in memory.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "state/limits.h"
#include "state/requests.h"
#include "state/rows/keys.h"
#include "state/rows/rows.h"

namespace agent_graph::state {

// The request a reply belongs to.
struct ReplyAddress {
  std::string client;
  uint64_t connection = 0;
  uint64_t sequence = 0;
};

// A run that waits until its thread is free.
struct Waiter {
  BeginRunRequest run;
  ReplyAddress from;
  int64_t micros = 0;
  int64_t sent_micros = 0;   // when the client sent its request for the first time; 0: not known
  int64_t begun_micros = 0;  // when its turn has come; 0: it did not wait
  Deadline deadline;
  int64_t run_deadline_micros = 0;  // see LeaseRow
  bool accepted = false;            // no client waits for a reply; `from` is empty
  bool follows_own_run = false;     // the client has executed the run before it
};

// Most threads have no waiter, and an empty list needs no memory of its own.
using WaiterList = std::list<Waiter>;

// A thread that a run holds, with the runs that wait for it.
struct Lease {
  LeaseRow row;
  keys::ThreadKey thread;
  WaiterList waiters;
  // From the run's Begin. Unknown after a takeover; then the next Begin trims the window.
  uint64_t window_max = kWindowItemsMax;
  bool window_is_kept = false;  // by the worker; see FinishRunRequest
  // The window that the worker has loaded, or was given, when the run began. Unknown after a
  // takeover.
  std::optional<KnownWindow> begun_window;
  std::optional<OutsideChangeRow> outside;
  // False: no entry of this attempt has changed the state; what earlier attempts have changed is
  // stored. Unknown after a takeover; then true if it has appended.
  bool has_effects = false;
  uint64_t last_effect_commit = 0;  // the value of commits_ when such an entry was appended
  // True for an accepted run: if its worker is lost, another one continues it. row.client is empty
  // while it waits for a worker.
  bool accepted = false;
  bool suspect = false;     // see RunRow
  bool is_damaged = false;  // its end could not be stored, because rows cannot be read
  bool is_lost = false;     // its client has lost it, see LostLease
  bool is_counted = false;  // among the runs that its client holds
  // Size of the grant, until its client begins the run. 0: it has, or this is unknown because of a
  // takeover.
  size_t unbegun_bytes = 0;
  uint64_t log_bytes = 0;            // bytes of the run's entries since this object exists
  int64_t waiting_since_micros = 0;  // when an accepted run began to wait for a worker
  Deadline deadline = kNoDeadline;   // when an accepted run that waits for a worker ends
  // The client that has returned the accepted run, without having stored anything of it.
  std::string returned_by = {};

  // False: no worker has begun this attempt.
  bool has_begun() const { return unbegun_bytes == 0 || row.last_append > 0; }
};

// Why a worker no longer executes a run.
enum class Loss : uint8_t {
  kCrash,         // the worker's process has ended; only one run, a suspect, was in user code
  kCrashBeside,   // the same, with one suspect and other runs in user code
  kUnclearCrash,  // the same, with no suspect or several ones in user code
  kLeft,          // the worker has left, or no longer holds the run
  kGivenBack,     // the worker has given the run back
  kHostGone,      // the worker's host has died
};
inline bool IsCrash(Loss loss) {
  return loss < Loss::kLeft;
}

// A lease whose client no longer holds it, until the store has ended it or has given its run to
// another worker.
struct LostLease {
  std::string thread_id;
  std::string client;  // which held it, with this epoch
  uint64_t epoch = 0;
  Loss loss = Loss::kLeft;
  bool is_reported = false;  // in the log
};

// A lease updates the thread's record when it ends, not when it begins.
inline void RememberLease(const LeaseRow& lease, ThreadRow& thread) {
  thread.lease_epoch = lease.epoch;
  thread.last_run_id = lease.run_id;
}

// A thread that has become free, and the runs that wait for it.
struct FreedThread {
  std::string thread_id;
  WaiterList waiters = {};            // at this host
  std::vector<QueuedRun> queue = {};  // runs queued at all hosts; see LeaseRow
  // The thread's lease row was handed over to a run of this host; empty: there is no row.
  std::string lease_key = {};
  // The client that executed the run which has ended; empty if it had kept the window by then.
  std::string last_client = {};
};

}  // namespace agent_graph::state
