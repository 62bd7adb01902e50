// The last step of reading a configuration: loads and builds the service once in a child process
// with the same rights as a worker. The master itself never runs user code and never starts a
// thread.
//
// nginx calls this for "nginx -t", at start and at reload, after it has parsed the whole file. A
// failure is rolled back, so the old workers continue serving after a rejected reload.
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/errno_text.h"
#include "base/text.h"
#include "ngx_module/callback.h"
#include "ngx_module/config.h"
#include "ngx_module/status/service_zone.h"
#include "service/copied_files.h"
#include "service/validation.h"

namespace agent_graph::nginx {
namespace {

constexpr std::chrono::seconds kValidationTimeout{10};
constexpr size_t kReportBytesMax = 4096;
constexpr char kReportOk = '+';
constexpr char kReportFailed = '-';

// Switches to the user that workers run as, which is set only after nginx has read the whole file.
bool BecomeWorkersUser(const ngx_core_conf_t* core) {
  if (geteuid() != 0) return true;
  return setgid(core->group) == 0 && initgroups(core->username, core->group) == 0 &&
         setuid(core->user) == 0;
}

void ResetSignals() {
  for (int number = 1; number < NSIG; ++number) {
    if (number != SIGKILL && number != SIGSTOP) signal(number, SIG_DFL);
  }
  signal(SIGPIPE, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Closes all descriptors except 0 to 2 (redirected to /dev/null), the write end of the pipe, and
// the copies of files. The copies keep their numbers, because the settings refer to them.
bool KeepOnly(int& report, std::vector<int> copies) {
  report = fcntl(report, F_DUPFD, STDERR_FILENO + 1);
  const int null = open("/dev/null", O_RDWR);
  if (report < 0 || null < 0) return false;
  for (int standard = 0; standard <= STDERR_FILENO; ++standard) {
    if (dup2(null, standard) < 0) return false;
  }
  copies.push_back(report);
  std::ranges::sort(copies);
  int next = STDERR_FILENO + 1;
  for (int kept : copies) {
    if (kept > next && syscall(SYS_close_range, next, kept - 1, 0) != 0) return false;
    next = kept + 1;
  }
  return syscall(SYS_close_range, next, ~0U, 0) == 0;
}

std::string ValidateAsWorker(const ServiceConfig& service, const ngx_core_conf_t* core) {
  if (!BecomeWorkersUser(core)) return "cannot become the workers' user: " + ErrnoText(errno);
  if (core->working_directory.len > 0 &&
      chdir(reinterpret_cast<const char*>(core->working_directory.data)) != 0) {
    return "cannot enter working_directory: " + ErrnoText(errno);
  }
  if (ngx_set_environment(service.cycle, nullptr) == nullptr) return "out of memory";
  Status status = service::Validate(*service.settings);
  return status.ok() ? "" : status.message();
}

[[noreturn]] void RunChild(const ServiceConfig& service, const ngx_core_conf_t* core, int report) {
  ResetSignals();
  // nginx's log descriptors are closed from here on and their numbers may be reused, so nginx must
  // not log.
  service.cycle->log->log_level = 0;
  ngx_cycle->log->log_level = 0;
  std::string fault = "cannot prepare the validation process";
  if (KeepOnly(report, service::CopyDescriptors(*service.settings))) {
    try {
      fault = ValidateAsWorker(service, core);
    } catch (const std::exception& error) {
      fault = std::string("unexpected exception: ") + error.what();
    } catch (...) {
      fault = "unexpected exception";
    }
  }
  std::string text = (fault.empty() ? kReportOk : kReportFailed) + fault;
  text.resize(std::min(text.size(), kReportBytesMax));
  // At most PIPE_BUF bytes, so that the write is atomic.
  ssize_t written = write(report, text.data(), text.size());
  _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
}

// Reads the child's report until it closes its end. False: the deadline has passed.
bool ReadReport(int fd, std::string& report) {
  Deadline deadline = MonotonicClock::now() + kValidationTimeout;
  for (;;) {
    auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - MonotonicClock::now());
    if (left.count() <= 0) return false;
    struct pollfd wait = {fd, POLLIN, 0};
    int ready = poll(&wait, 1, static_cast<int>(left.count()) + 1);
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    char buffer[kReportBytesMax];
    ssize_t count = read(fd, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    report.append(buffer, count);
    if (report.size() > kReportBytesMax) return true;
  }
}

// The error as one line; empty if the service is valid.
std::string Judge(bool in_time, const std::string& report, bool reaped, int wait_status) {
  if (!in_time) return "loading the graph takes longer than 10 seconds";
  if (!report.empty()) return report[0] == kReportOk ? "" : report.substr(1);
  if (reaped && WIFSIGNALED(wait_status)) {
    const char* what = sigdescr_np(WTERMSIG(wait_status));
    return std::string("loading the graph crashed (") + (what != nullptr ? what : "a signal") + ")";
  }
  return "loading the graph ended the process";
}

std::string ValidateInChild(const ServiceConfig& service, [[maybe_unused]] ngx_log_t* log) {
  auto* core =
      reinterpret_cast<ngx_core_conf_t*>(ngx_get_conf(service.cycle->conf_ctx, ngx_core_module));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "no pipe: " + ErrnoText(errno);

  // Blocks SIGCHLD: otherwise nginx's handler would reap the child first.
  sigset_t children, previous;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigprocmask(SIG_BLOCK, &children, &previous);
  pid_t child = fork();
  if (child == 0) RunChild(service, core, ends[1]);
  close(ends[1]);
  std::string fault;
  if (child < 0) {
    fault = "cannot fork: " + ErrnoText(errno);
  } else {
    std::string report;
    bool in_time = ReadReport(ends[0], report);
    // Stops anything that the graph left running.
    kill(child, SIGKILL);
    int wait_status = 0;
    bool reaped = waitpid(child, &wait_status, 0) == child;
    fault = Judge(in_time, report, reaped, wait_status);
    ngx_log_debug1(NGX_LOG_DEBUG_CORE, log, 0, "agent_graph: validation child %P done", child);
  }
  close(ends[0]);
  sigprocmask(SIG_SETMASK, &previous, nullptr);
  return fault;
}

}  // namespace

ngx_int_t ValidateService(ngx_shm_zone_t* zone, void*) noexcept {
  ngx_log_t* log = zone->shm.log;
  return Guarded<ngx_int_t>(log, NGX_ERROR, [&]() -> ngx_int_t {
    auto& service = *static_cast<ServiceConfig*>(zone->data);
    if (!PrepareZone(zone, service)) return NGX_ERROR;
    std::string fault = ValidateInChild(service, log);
    if (fault.empty()) return NGX_OK;
    // Reduced to one line, because the text of an exception may contain line breaks.
    fault = OneLine(fault, kReportBytesMax);
    ngx_str_t line = Reference(fault);
    ngx_log_error(NGX_LOG_EMERG, log, 0, "agent_graph_service \"%s\": %s: %V", service.name.c_str(),
                  service.file.c_str(), &line);
    return NGX_ERROR;
  });
}

}  // namespace agent_graph::nginx
