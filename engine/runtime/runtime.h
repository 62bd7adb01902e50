// Engine threads, the fibers on them, and the pools for work that blocks.
//
// A fiber is a stackful coroutine that stays on its engine thread for life: code reads
// synchronously and never migrates. Nothing that runs on a fiber may block its thread; blocking
// work goes to a pool (RunOnIoPool, RunUserFunction) while the fiber waits.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/cancellation.h"

namespace boost::asio {
class io_context;
}

namespace agent_graph::runtime {

struct RuntimeOptions {
  int threads = 1;               // engine threads
  size_t fibers_max = 8192;      // live fibers over all engine threads; beyond it work waits
  int io_threads_max = 4;        // pool for our own blocking work (files, large JSON)
  int user_threads_active = 64;  // user functions running at once (waiting ones do not count)
  int user_threads_max = 512;    // threads of the user pool, waiting and written-off ones included
  // Beside them the same for functions that decide who may ask. Constants like those above: each
  // request waits for its answer, so these are short, and threads are started only when needed.
  int auth_threads_active = 16;
  int auth_threads_max = 128;
  // A function that was given up counts as written off when it has not come back for this long.
  std::chrono::milliseconds write_off_grace{1000};
  // What one user function may hold by operator new (base/allocation_account.h).
  uint64_t function_bytes_max = UINT64_MAX;
  std::string name = "agent";  // thread name prefix, at most 8 characters
  // Called on an engine thread with one line for the operator's log; null: standard error.
  std::function<void(const std::string&)> on_uncaught = nullptr;
};

// Whose threads a user function takes. However many functions of runs are at work, requests are
// authenticated, and the other way round.
enum class UserShare : uint8_t { kRuns, kAuth };

class Runtime {
 public:
  explicit Runtime(RuntimeOptions options);
  // Stops first if nobody did. Leaks what still has live fibers or functions on purpose: a
  // destructor never runs under them.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Creates the threads, all signals blocked. Call after fork, from the process that will run them.
  Status Start();

  // Runs `body` on a new fiber: on the calling engine thread if `here` and there is one, else on
  // the next one round robin. Never fails: past fibers_max, and before Start, the body waits in
  // FIFO order; after Stop it is destroyed without having run. An exception that escapes `body` is
  // logged through `on_uncaught` and ends only that fiber.
  void Spawn(std::function<void()> body, bool here = false);

  // Live and waiting fibers.
  size_t fibers() const;

  // Waits until no fiber is left or the deadline passes, then joins the engine threads.
  // kDeadlineExceeded names the functions still running; threads then stay detached.
  Status Stop(Deadline deadline);

  // Runs on the calling fiber, or blocks the calling thread when it is not one.
  // Our own blocking work. Never user code. An exception of `work` is thrown here.
  void RunOnIoPool(const std::function<void()>& work);
  // A function of the user's, on the user pool. Past the deadline (or on cancellation) returns at
  // once: the thread is written off and replaced, so `work` must own all it touches.
  // An exception of the user's comes back as kGraph with its text. Called by a user function, it
  // runs `work` on the calling thread.
  Status RunUserFunction(std::shared_ptr<std::function<void()>> work, const std::string& name,
                         const Cancellation& cancellation, Deadline deadline,
                         UserShare share = UserShare::kRuns);
  // Bound of an AllocationScope around a user function that is called on a fiber.
  uint64_t function_bytes_max() const;
  // Functions given up that have not come back; at 16 the worker should retire.
  size_t written_off_threads() const;

  // The calling engine thread's event loop; null elsewhere. For engine/net only.
  static boost::asio::io_context* CurrentLoop();
  static Runtime* Current();  // the runtime of the calling engine thread or pool thread, or null

  struct Implementation;

 private:
  std::unique_ptr<Implementation> implementation_;
};

// True on a fiber of an engine thread.
bool OnFiber();

// Runs `work` once the fibers that can run on the calling engine thread have run, so that what they
// have to tell another thread wakes it once; on any other thread at once. It is short and does not
// throw. Not called when the runtime stops first.
void AtEndOfTurn(std::function<void()> work);

// Sleeps the calling fiber (or thread). kCancelled when cancelled first.
Status SleepUntil(Deadline end, const Cancellation* cancellation);
Status SleepFor(std::chrono::milliseconds duration, const Cancellation* cancellation);

}  // namespace agent_graph::runtime
