// Checks of the services' state directories in "nginx -t": the state server, which runs as the
// workers' user, must be able to write there.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "base/errno_text.h"
#include "ngx_module/callback.h"
#include "ngx_module/config.h"

namespace agent_graph::nginx {
namespace {

constexpr char kOtherUser[] = "belongs to another user than nginx's workers (chown -R)";
constexpr char kOtherFiles[] =
    "and other files are in it: name a folder that only this service uses";

bool OwnedByWorkers(const struct stat& status, const ngx_core_conf_t* core) {
  if (geteuid() != 0) return status.st_uid == geteuid();
  // Without a master process nginx stays root, so its files belong to root.
  if (core->master == 0 && status.st_uid == 0) return true;
  // Without `user` in nginx.conf the workers run as the user that nginx was built with. nginx sets
  // it after this check; it is not root.
  if (core->user == static_cast<ngx_uid_t>(NGX_CONF_UNSET_UINT)) return status.st_uid != 0;
  return status.st_uid == core->user;
}

// The reason why the workers' user cannot write to `path`; empty if it can. `mode`: the permission
// bits that the user needs. access() alone is not enough, because root may write in spite of the
// mode.
std::string WriteFault(const std::string& path, const struct stat& status, mode_t mode) {
  if ((status.st_mode & mode) != mode) return "is not writable (chmod u+rwX)";
  if (faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0) return {};
  return "is not writable: " + ErrnoText(errno);
}

std::string FolderFault(const std::string& path, const struct stat& status) {
  if (!S_ISDIR(status.st_mode)) return "is not a directory";
  return WriteFault(path, status, S_IRWXU);
}

// True if the directory is empty or holds the files of a state server.
bool IsOurs(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path + "/owner.lock", error) ||
         std::filesystem::exists(path + "/db", error) || std::filesystem::is_empty(path, error);
}

std::string StateFault(const std::string& path, const struct stat& status,
                       const ngx_core_conf_t* core) {
  if (!S_ISDIR(status.st_mode)) return "is not a directory";
  const bool is_workers = OwnedByWorkers(status, core);
  if (status.st_uid != geteuid() && !is_workers) return kOtherUser;
  // The advice must not lead to `chmod 700 /tmp`.
  const bool is_open = (status.st_mode & (S_IRWXG | S_IRWXO)) != 0;
  if (is_open && IsOurs(path)) return "is open to group or others (chmod 700)";
  if (is_open) return std::string("is open to group or others, ").append(kOtherFiles);
  // nginx changes the owner of a directory of root to the workers' user, which must not happen to
  // /root.
  if (!is_workers && !IsOurs(path)) return std::string("belongs to root, ").append(kOtherFiles);
  return FolderFault(path, status);
}

// Checks entries that the state server opens for writing. A command that was run as root may have
// left files of root there.
std::string EntryFault(const std::string& path, const ngx_core_conf_t* core) {
  for (const char* name : {"/db", "/owner.lock", "/db/LOCK", "/db/CURRENT"}) {
    struct stat status;
    const std::string entry = path + name;
    if (stat(entry.c_str(), &status) != 0) continue;
    std::string fault = OwnedByWorkers(status, core) ? std::string() : kOtherUser;
    if (fault.empty() && S_ISDIR(status.st_mode)) fault = FolderFault(entry, status);
    if (fault.empty()) fault = WriteFault(entry, status, S_IRUSR | S_IWUSR);
    if (!fault.empty()) return std::string("cannot be used: ").append(entry + " ").append(fault);
  }
  return {};
}

// The reason why nginx cannot create a directory that does not exist; empty if it can.
std::string CreationFault(const std::string& path) {
  const std::string parent = path.substr(0, std::max<size_t>(path.rfind('/'), 1));
  const int needed = W_OK | X_OK;
  if (faccessat(AT_FDCWD, parent.c_str(), needed, AT_EACCESS) == 0) return {};
  return "cannot be created in " + parent + ": " + ErrnoText(errno);
}

}  // namespace

ngx_int_t CheckStateDirectories(ngx_conf_t* cf) noexcept {
  if (ngx_process == NGX_PROCESS_SIGNALLER) return NGX_OK;
  auto* main =
      static_cast<MainConfig*>(ngx_http_conf_get_module_main_conf(cf, ngx_http_agent_graph_module));
  auto* core =
      reinterpret_cast<ngx_core_conf_t*>(ngx_get_conf(cf->cycle->conf_ctx, ngx_core_module));
  return Guarded<ngx_int_t>(cf->log, NGX_ERROR, [&]() -> ngx_int_t {
    std::map<std::pair<dev_t, ino_t>, std::string> services;
    for (const auto& service : *main->services) {
      struct stat status;
      const std::string& directory = service->state_directory;
      std::string fault;
      if (stat(directory.c_str(), &status) == 0) {
        fault = StateFault(directory, status, core);
        if (fault.empty()) fault = EntryFault(directory, core);
        const auto [other, is_first] =
            services.try_emplace({status.st_dev, status.st_ino}, service->name);
        if (fault.empty() && !is_first) {
          fault = "is that of service \"" + other->second + "\"; give each its own with state=";
        }
      } else if (errno == ENOENT) {
        // nginx creates it with mode 0700.
        fault = CreationFault(directory);
      }
      if (fault.empty()) continue;
      ngx_log_error(NGX_LOG_EMERG, cf->log, 0, "agent_graph_service \"%s\": state directory %s %s",
                    service->name.c_str(), service->state_directory.c_str(), fault.c_str());
      return NGX_ERROR;
    }
    return NGX_OK;
  });
}

}  // namespace agent_graph::nginx
