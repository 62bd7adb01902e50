// Runtime: engine threads, the fibers on them, and the pools for blocking work.
//
// A fiber is a stackful coroutine that stays on one engine thread: its code looks synchronous and
// never migrates. Code on a fiber must not block its thread; blocking work goes to a pool
// (RunOnIoPool, RunUserFunction) while the fiber is suspended.
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
  size_t fibers_max = 8192;      // live fibers on all engine threads; beyond it new ones are queued
  int io_threads_max = 4;        // pool for our own blocking work (files, large JSON)
  int user_threads_active = 64;  // user functions that run at once; waiting ones do not count
  int user_threads_max = 512;    // threads of the user pool, including waiting and written-off ones
  // The same limits for a second pool, for authentication functions. They are not configurable:
  // each request waits for its function, so these functions are short; threads start only when
  // needed.
  int auth_threads_active = 16;
  int auth_threads_max = 128;
  // A function whose thread was replaced counts as lost if it runs this long past its deadline.
  std::chrono::milliseconds lost_grace{1000};
  // Limit of the bytes that one user function may hold by operator new (base/allocation_account.h).
  uint64_t function_bytes_max = UINT64_MAX;
  std::string name = "agent";  // thread name prefix, at most 8 characters
  // Receives one line for the operator's log, on an engine thread; null: standard error.
  std::function<void(const std::string&)> on_uncaught = nullptr;
};

// The pool for a user function. With two pools a load of graph functions cannot delay the
// authentication of requests, nor the reverse.
enum class UserShare : uint8_t { kRuns, kAuth };

// Thread-safe, except Start, Stop and the destructor. One per process in the server.
class Runtime {
 public:
  explicit Runtime(RuntimeOptions options);
  // Calls Stop if it was not called. If fibers or functions are still running, their data is leaked
  // on purpose instead of destroyed while in use.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Creates the threads, with all signals blocked. Call it after fork, in the process that uses
  // them.
  Status Start();

  // Runs `body` on a new fiber: on the calling engine thread if `here` is true and there is one,
  // otherwise on the next engine thread (round robin). Thread-safe; never fails. Beyond fibers_max
  // and before Start the body is queued (FIFO); after Stop it is destroyed without having run. An
  // exception that leaves `body` is reported through `on_uncaught` and ends only that fiber.
  void Spawn(std::function<void()> body, bool here = false);

  // Number of live and queued fibers.
  size_t fibers() const;

  // Waits until no fiber is left or the deadline passes, then joins the engine threads.
  // kDeadlineExceeded lists the functions that are still running; their threads are detached.
  Status Stop(Deadline deadline);

  // Runs our own blocking work, never user code, and waits for it: a fiber is suspended, another
  // thread blocks. Rethrows an exception of `work`.
  void RunOnIoPool(const std::function<void()>& work);
  // Runs a user function on the user pool and waits for it, like RunOnIoPool. At the deadline or on
  // cancellation it returns at once; the thread is written off and replaced, so `work` must own all
  // data that it uses. An exception of the function is returned as kGraph with its text. If the
  // caller is itself a user function, `work` runs on the calling thread.
  Status RunUserFunction(std::shared_ptr<std::function<void()>> work, const std::string& name,
                         const Cancellation& cancellation, Deadline deadline,
                         UserShare share = UserShare::kRuns);
  // Limit for an AllocationScope around a user function that is called on a fiber.
  uint64_t function_bytes_max() const;
  // Number of threads whose functions have not returned by their deadline. At 16 the worker should
  // retire.
  size_t lost_threads() const;

  int threads() const;  // number of engine threads

  // The event loop of the calling engine thread; null on other threads. For folders that use
  // sockets.
  static boost::asio::io_context* CurrentLoop();
  static Runtime* Current();  // the runtime of the calling engine thread or pool thread, or null

  struct Implementation;

 private:
  std::unique_ptr<Implementation> implementation_;
};

// True if the caller is a fiber of an engine thread.
bool OnFiber();

// Runs `work` after all fibers that are ready on the calling engine thread have run, so that their
// notifications wake another thread only once. On any other thread runs it at once. `work` must be
// short and must not throw. It is not called if the runtime stops first.
void AtEndOfTurn(std::function<void()> work);

// Suspends the calling fiber (or blocks the thread). kCancelled if cancelled first.
Status SleepUntil(Deadline end, const Cancellation* cancellation);
Status SleepFor(std::chrono::milliseconds duration, const Cancellation* cancellation);

}  // namespace agent_graph::runtime
