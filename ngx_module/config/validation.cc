// The last step of reading a configuration: loads and builds the service once in a child process
// with the same rights as a worker. The master itself never runs user code and never starts a
// thread.
//
// nginx calls this for "nginx -t", at start and at reload, after it has parsed the whole file. A
// failure is rolled back, so the old workers continue serving after a rejected reload.
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/errno_text.h"
#include "base/text.h"
#include "ngx_module/callback.h"
#include "ngx_module/config.h"
#include "ngx_module/status/service_zone.h"
#include "service/copied_files.h"
#include "service/trial.h"
#include "service/validation.h"

namespace agent_graph::nginx {
namespace {

constexpr size_t kReportBytesMax = 4096;

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
  sigprocmask(SIG_SETMASK, &none, nullptr);  // NOLINT: a new process has one thread
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

Status ValidateAsWorker(const ServiceConfig& service, const ngx_core_conf_t* core) {
  if (!BecomeWorkersUser(core)) {
    return GraphFailure("cannot become the workers' user: " + ErrnoText(errno));
  }
  if (core->working_directory.len > 0 &&
      chdir(reinterpret_cast<const char*>(core->working_directory.data)) != 0) {
    return GraphFailure("cannot enter working_directory: " + ErrnoText(errno));
  }
  if (ngx_set_environment(service.cycle, nullptr) == nullptr) return GraphFailure("out of memory");
  return service::Validate(*service.settings);
}

// The child's part.
Result<std::string> ValidateInChild(const ServiceConfig& service, int& report) {
  const auto* core =
      reinterpret_cast<ngx_core_conf_t*>(ngx_get_conf(service.cycle->conf_ctx, ngx_core_module));
  ResetSignals();
  // nginx's log descriptors are closed from here on and their numbers may be reused, so nginx must
  // not log.
  service.cycle->log->log_level = 0;
  ngx_cycle->log->log_level = 0;
  if (!KeepOnly(report, service::CopyDescriptors(*service.settings))) {
    return GraphFailure("cannot prepare the validation process");
  }
  AG_RETURN_IF_ERROR(ValidateAsWorker(service, core));
  return std::string();
}

}  // namespace

ngx_int_t ValidateService(ngx_shm_zone_t* zone, void*) noexcept {
  ngx_log_t* log = zone->shm.log;
  return Guarded<ngx_int_t>(log, NGX_ERROR, [&]() -> ngx_int_t {
    auto& service = *static_cast<ServiceConfig*>(zone->data);
    if (!PrepareZone(zone, service)) return NGX_ERROR;
    const auto result = service::TryInChild(
        {.graph = service.settings->agent.module,
         .bytes_max = kReportBytesMax,
         .function = [&](int& report) { return ValidateInChild(service, report); }});
    if (result.ok()) return NGX_OK;
    // Reduced to one line, because the text of an exception may contain line breaks.
    const std::string fault = OneLine(result.status().message(), kReportBytesMax);
    ngx_str_t line = Reference(fault);
    ngx_log_error(NGX_LOG_EMERG, log, 0, "agent_graph_service \"%s\": %s: %V", service.name.c_str(),
                  service.file.c_str(), &line);
    return NGX_ERROR;
  });
}

}  // namespace agent_graph::nginx
