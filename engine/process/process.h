// Programs that a service runs beside nginx: tool servers, text extractors.
//
// A worker never forks: it has threads, and nginx's signal handler reaps every child. A small
// process, the spawner, starts programs for the workers and passes their pipes back. A program
// lives as long as the connection over which it was requested, so it ends with its worker in any
// case.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/cancellation.h"

namespace agent_graph::process {

// Resource limits that the kernel enforces; 0: the limits of the spawner itself.
struct ProcessLimits {
  uint64_t memory_bytes = 0;  // address space
  uint64_t cpu_seconds = 0;   // the program is killed when it has used them
  uint64_t file_bytes = 0;    // size of a file that it writes
  uint64_t descriptors = 1024;
};

struct ProcessOptions {
  std::vector<std::string> arguments;              // first the program: a path, or a name in PATH
  std::map<std::string, std::string> environment;  // the complete environment
  std::string directory = "/";                     // working directory
  ProcessLimits limits;
  // An open file of the caller that becomes the program's standard input instead of a pipe. -1:
  // none.
  int input = -1;
};

// How a program ended.
struct ProcessEnd {
  int exit_code = 0;
  int signal = 0;                // not 0: the signal that ended it
  std::string ToString() const;  // "exited with code 1", "was ended by signal 9"
};

// A running program. Used on fibers of the engine thread that started it, at most one fiber per
// stream at a time. Kill and pid may be called from any thread. Destroying it ends the program.
class Process {
 public:
  virtual ~Process() = default;

  virtual pid_t pid() const = 0;

  // Waits until all `bytes` are in the pipe. kUnavailable: the program does not read its input, or
  // has closed it.
  virtual Status Write(std::string_view bytes, const runtime::Cancellation& cancellation,
                       Deadline deadline) = 0;
  virtual void CloseInput() = 0;
  // The next bytes of its standard output (errors), at most 64 KiB; empty at the end.
  virtual Result<std::string> ReadOutput(const runtime::Cancellation& cancellation,
                                         Deadline deadline) = 0;
  virtual Result<std::string> ReadErrors(const runtime::Cancellation& cancellation,
                                         Deadline deadline) = 0;
  // Waits for the end of the program. Call it once. kUnavailable if the spawner, and with it the
  // program, is gone.
  virtual Result<ProcessEnd> Wait(const runtime::Cancellation& cancellation, Deadline deadline) = 0;

  // Ends its whole process group: SIGTERM, and SIGKILL after two seconds. The streams end soon
  // after.
  virtual void Kill() = 0;
};

// Starts programs through a spawner. Thread-safe.
class Launcher {
 public:
  // Uses the spawner that serves this state directory.
  explicit Launcher(std::string state_directory) : state_directory_(std::move(state_directory)) {}

  // Call it on a fiber. kUnavailable: there is no spawner, or it does not answer.
  // kResourceExhausted: too many programs are running. kInvalidArgument: the program cannot be
  // started; the message has the reason.
  Result<std::unique_ptr<Process>> Start(const ProcessOptions& options,
                                         const runtime::Cancellation& cancellation,
                                         Deadline deadline) const;

 private:
  const std::string state_directory_;
};

}  // namespace agent_graph::process
