// Programs that a service starts beside nginx: servers of tools, extractors of text.
//
// A worker never forks: it has threads, and nginx's handler takes the exit of every child. A small
// process, the spawner, starts them for it and hands their pipes over. A program lives as long as
// the connection it was asked for with: it ends with its worker, however that ends.
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

// What the kernel holds a program to; 0: nothing beyond the spawner's own.
struct ProcessLimits {
  uint64_t memory_bytes = 0;  // address space
  uint64_t cpu_seconds = 0;   // then it is killed
  uint64_t file_bytes = 0;    // of a file that it writes
  uint64_t descriptors = 1024;
};

struct ProcessOptions {
  std::vector<std::string> arguments;              // the program first: a path, or a name in PATH
  std::map<std::string, std::string> environment;  // all of it
  std::string directory = "/";                     // where it starts
  ProcessLimits limits;
  // An open file, the caller's: the program's standard input, in place of a pipe. -1: none.
  int input = -1;
};

// How a program ended.
struct ProcessEnd {
  int exit_code = 0;
  int signal = 0;                // not 0: that ended it
  std::string ToString() const;  // "exited with code 1", "was ended by signal 9"
};

// A running program. Used on fibers of the engine thread that started it, by one fiber for each
// stream at a time; Kill and pid by any thread. Destroying it ends the program.
class Process {
 public:
  virtual ~Process() = default;

  virtual pid_t pid() const = 0;

  // Waits until all of `bytes` is in the pipe. kUnavailable: nobody reads, or not any more.
  virtual Status Write(std::string_view bytes, const runtime::Cancellation& cancellation,
                       Deadline deadline) = 0;
  virtual void CloseInput() = 0;
  // The next bytes that it wrote, at most 64 KiB; empty at their end.
  virtual Result<std::string> ReadOutput(const runtime::Cancellation& cancellation,
                                         Deadline deadline) = 0;
  virtual Result<std::string> ReadErrors(const runtime::Cancellation& cancellation,
                                         Deadline deadline) = 0;
  // Once; kUnavailable when the spawner is gone, and the program with it.
  virtual Result<ProcessEnd> Wait(const runtime::Cancellation& cancellation, Deadline deadline) = 0;

  // Its whole process group: asked to end, and after two seconds made to. Streams end soon.
  virtual void Kill() = 0;
};

// Thread-safe.
class Launcher {
 public:
  // Of the spawner that serves a state directory.
  explicit Launcher(std::string state_directory) : state_directory_(std::move(state_directory)) {}

  // On a fiber. kUnavailable: there is no spawner, or it does not answer; kResourceExhausted: too
  // many programs run; kInvalidArgument: the program cannot be started, with the reason.
  Result<std::unique_ptr<Process>> Start(const ProcessOptions& options,
                                         const runtime::Cancellation& cancellation,
                                         Deadline deadline) const;

 private:
  const std::string state_directory_;
};

}  // namespace agent_graph::process
