#include "service/trial.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>

#include "base/clock.h"
#include "base/errno_text.h"
#include "base/file_descriptor.h"
#include "graph/shared_object.h"

namespace agent_graph::service {
namespace {

// The first byte of a report.
constexpr char kSucceeded = '+';
constexpr char kFailed = '-';
constexpr char kTerminated = '!';
// Before the report: a shared object that the child is about to load. The path ends with a zero.
constexpr char kLoading = '@';
constexpr size_t kPathsBytesMax = 64UL * 1024;

Status Fault(const std::string& text) {
  return Status(StatusCode::kGraph, text);
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

// The pipe to the parent, for ReportTermination; only set in the child.
const int* report_of_child = nullptr;

// std::terminate: an exception left a function that must not throw, such as the constructor of a
// static variable. The process aborts as usual, so that a debugger shows where.
[[noreturn]] void ReportTermination() {
  if (std::current_exception() == nullptr) std::abort();
  std::string text(1, kTerminated);
  try {
    std::rethrow_exception(std::current_exception());
  } catch (const std::exception& error) {
    text += error.what();
  } catch (...) {
    text += "not a std::exception";
  }
  WriteAll(*report_of_child, text);
  std::abort();
}

[[noreturn]] void RunChild(const Trial& trial, int report) {
  report_of_child = &report;
  std::set_terminate(ReportTermination);
  graph::ObserveLoading(
      [&report](const std::string& path) { WriteAll(report, kLoading + path + '\0'); });
  Result<std::string> result = std::string();
  try {
    result = trial.function(report);
  } catch (const std::exception& error) {
    result = Fault(std::string("unexpected exception: ") + error.what());
  } catch (...) {
    result = Fault("unexpected exception");
  }
  std::string text = result.ok() ? kSucceeded + *result : kFailed + result.status().message();
  text.resize(std::min(text.size(), trial.bytes_max));
  _exit(WriteAll(report, text) ? 0 : 1);
}

// Reads until the child closes its end. False: the time is over.
bool ReadReport(int fd, const Trial& trial, std::string& report) {
  const Deadline deadline = MonotonicClock::now() + trial.limit;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - MonotonicClock::now());
    if (left.count() <= 0) return false;
    struct pollfd wait = {.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = poll(&wait, 1, static_cast<int>(left.count()) + 1);
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    std::array<char, 4096> buffer;
    const ssize_t count = read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    report.append(buffer.data(), static_cast<size_t>(count));
    if (report.size() > kPathsBytesMax + trial.bytes_max) return true;
  }
}

// Removes the paths before the report and returns the last one, or "" if there is none.
std::string TakeLastPath(std::string& report) {
  std::string path;
  while (report.starts_with(kLoading)) {
    const size_t end = report.find('\0');
    if (end == std::string::npos) break;
    path = report.substr(1, end - 1);
    report.erase(0, end + 1);
  }
  return path;
}

// The reason why there is no report.
std::string Fate(const Trial& trial, bool in_time, bool reaped, int wait_status) {
  if (!in_time) return "takes longer than " + std::to_string(trial.limit.count()) + " seconds";
  if (!reaped || !WIFSIGNALED(wait_status)) return "ended the process";
  const char* signal = sigdescr_np(WTERMSIG(wait_status));
  return std::string("crashed (") + (signal != nullptr ? signal : "a signal") + ")";
}

}  // namespace

Result<std::string> TryInChild(const Trial& trial) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Fault("no pipe: " + ErrnoText(errno));
  const FileDescriptor reading(ends[0]);
  FileDescriptor writing(ends[1]);

  // A handler of the caller, such as nginx's, must not reap the child first.
  sigset_t children, previous;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigprocmask(SIG_BLOCK, &children, &previous);  // NOLINT: the caller has one thread
  const pid_t child = fork();
  if (child == 0) RunChild(trial, writing.get());
  const int fork_error = errno;
  writing.Reset();
  std::string report, path;
  std::string fate = "needs a process: " + ErrnoText(fork_error);
  if (child > 0) {
    const bool in_time = ReadReport(reading.get(), trial, report);
    // Ends a child that hangs, or whose threads keep it from ending.
    kill(child, SIGKILL);
    int wait_status = 0;
    const bool reaped = waitpid(child, &wait_status, 0) == child;
    fate = Fate(trial, in_time, reaped, wait_status);
    path = TakeLastPath(report);
    if (!in_time) report.clear();
  }
  sigprocmask(SIG_SETMASK, &previous, nullptr);  // NOLINT: the caller has one thread
  const std::string loading = path.empty() || path == trial.graph
                                  ? trial.graph + ": loading the graph "
                                  : path + ": loading it ";
  if (report.empty()) return Fault(loading + fate);
  if (report[0] == kTerminated) {
    return Fault(loading + "ended with an uncaught exception: " + report.substr(1));
  }
  if (report[0] == kFailed) return Fault(report.substr(1));
  return report.substr(1);
}

}  // namespace agent_graph::service
