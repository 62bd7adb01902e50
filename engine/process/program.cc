#include "process/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

namespace agent_graph::process {
namespace {

constexpr int kReportDescriptor = 3;
constexpr int kStartMilliseconds = 5'000;  // from fork to exec

// Both ends of a pipe; closed unless they are moved out.
struct Pipe {
  int ends[2] = {-1, -1};

  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    for (int end : ends) {
      if (end >= 0) close(end);
    }
  }
  bool Open() { return pipe2(ends, O_CLOEXEC) == 0; }
  int Take(int index) {
    const int end = ends[index];
    ends[index] = -1;
    return end;
  }
};

struct Pipes {
  Pipe input, output, errors, report;
  bool Open() { return input.Open() && output.Open() && errors.Open() && report.Open(); }
};

Status Refuse(const ProcessOptions& options, const std::string& what, int error) {
  return Status(StatusCode::kInvalidArgument,
                options.arguments.front() + ": " + what +
                    (error != 0 ? ": " + std::generic_category().message(error) : std::string()));
}

void Limit(__rlimit_resource resource, uint64_t value) {
  if (value == 0) return;
  const rlimit limit{value, value};
  (void)setrlimit(resource, &limit);
}

// Prepares the process image of the program. A failed step reports its name and errno.
struct Failure {
  int error = 0;
  char step[32] = {};
};

[[noreturn]] void Report(const char* step) {
  Failure failure;
  failure.error = errno;
  strncpy(failure.step, step, sizeof failure.step - 1);
  (void)!write(kReportDescriptor, &failure, sizeof failure);
  _exit(127);
}

void MoveDescriptors(int input, Pipes& pipes) {
  const int from[] = {input >= 0 ? input : pipes.input.ends[0], pipes.output.ends[1],
                      pipes.errors.ends[1], pipes.report.ends[1]};
  int high[4];
  for (int i = 0; i < 4; ++i) {
    high[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 16);
    if (high[i] < 0) _exit(127);
  }
  for (int i = 0; i < 3; ++i) {
    if (dup2(high[i], i) < 0) _exit(127);
  }
  if (dup3(high[3], kReportDescriptor, O_CLOEXEC) < 0) _exit(127);
  syscall(SYS_close_range, static_cast<unsigned>(kReportDescriptor + 1), ~0U, 0);
}

[[noreturn]] void Become(const ProcessOptions& options, pid_t starter, Pipes& pipes,
                         char* const* arguments, char* const* environment) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != starter) _exit(127);
  MoveDescriptors(options.input, pipes);
  if (setpgid(0, 0) != 0) Report("setpgid");
  for (int number = 1; number < NSIG; ++number) {
    if (number != SIGKILL && number != SIGSTOP) signal(number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  Limit(RLIMIT_AS, options.limits.memory_bytes);
  Limit(RLIMIT_CPU, options.limits.cpu_seconds);
  Limit(RLIMIT_FSIZE, options.limits.file_bytes);
  Limit(RLIMIT_NOFILE, options.limits.descriptors);
  if (chdir(options.directory.c_str()) != 0) Report("cannot enter its directory");
  // execvpe searches our own PATH, which is the program's from here on.
  environ = const_cast<char**>(environment);
  execvpe(arguments[0], arguments, environment);
  Report("cannot be started");
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Waits for exec, which closes the report pipe. False at the deadline.
bool AwaitExec(int report, Failure& failure) {
  pollfd wait{report, POLLIN, 0};
  int ready;
  do {
    ready = poll(&wait, 1, kStartMilliseconds);
  } while (ready < 0 && errno == EINTR);
  if (ready <= 0) return false;
  const ssize_t got = read(report, &failure, sizeof failure);
  if (got != static_cast<ssize_t>(sizeof failure)) failure = {};
  return true;
}

}  // namespace

Result<Program> StartProgram(const ProcessOptions& options) {
  std::vector<std::string> environment;
  environment.reserve(options.environment.size());
  for (const auto& [name, value] : options.environment) {
    environment.emplace_back(name).append("=").append(value);
  }
  const std::vector<char*> arguments = Pointers(options.arguments);
  const std::vector<char*> variables = Pointers(environment);
  Pipes pipes;
  if (!pipes.Open()) return Refuse(options, "no pipe", errno);
  const pid_t starter = getpid();
  const pid_t pid = fork();
  if (pid < 0) return Refuse(options, "cannot fork", errno);
  if (pid == 0) Become(options, starter, pipes, arguments.data(), variables.data());
  close(pipes.report.Take(1));
  Failure failure;
  const bool in_time = AwaitExec(pipes.report.ends[0], failure);
  if (!in_time || failure.error != 0) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return in_time ? Refuse(options, failure.step, failure.error)
                   : Refuse(options, "does not start", 0);
  }
  Program program{pid, {pipes.input.Take(1), pipes.output.Take(0), pipes.errors.Take(0)}};
  for (int pipe : program.pipes) fcntl(pipe, F_SETFL, fcntl(pipe, F_GETFL) | O_NONBLOCK);
  return program;
}

}  // namespace agent_graph::process
