#include "cli/installation.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <vector>

namespace agent_graph::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kModuleFile[] = "ngx_http_agent_graph_module.so";

// The folder of this program; empty if the system does not report it.
fs::path OwnFolder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

// Folders that may not be searched have no file for this user.
bool IsFile(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool IsProgram(const fs::path& path) {
  return IsFile(path) && access(path.c_str(), X_OK) == 0;
}

std::vector<fs::path> ProgramFolders() {
  std::vector<fs::path> folders;
  const char* path = std::getenv("PATH");  // NOLINT: nothing changes the environment
  std::istringstream list(path != nullptr ? path : "");
  for (std::string folder; std::getline(list, folder, ':');) {
    if (!folder.empty()) folders.emplace_back(folder);
  }
  for (const char* folder : {"/usr/sbin", "/usr/local/sbin", "/usr/local/nginx/sbin"}) {
    folders.emplace_back(folder);
  }
  return folders;
}

}  // namespace

Result<std::string> FindNginx(const std::string& chosen) {
  if (!chosen.empty()) {
    if (IsProgram(chosen)) return chosen;
    return Status(StatusCode::kNotFound, "--nginx: " + chosen + " is no program");
  }
  for (const fs::path& folder : ProgramFolders()) {
    if (IsProgram(folder / "nginx")) return (folder / "nginx").string();
  }
  return Status(StatusCode::kNotFound,
                "there is no nginx: install it (`apt-get install nginx`), or name it with --nginx");
}

Result<std::string> FindModule(const std::string& chosen) {
  if (!chosen.empty()) {
    if (IsFile(chosen)) return fs::absolute(chosen).string();
    return Status(StatusCode::kNotFound, "--module: there is no file " + chosen);
  }
  const std::vector<fs::path> folders = {OwnFolder(),
                                         OwnFolder() / "../lib/nginx/modules",
                                         "/usr/lib/nginx/modules",
                                         "/usr/share/nginx/modules",
                                         "/usr/local/nginx/modules",
                                         "/etc/nginx/modules"};
  for (const fs::path& folder : folders) {
    if (IsFile(folder / kModuleFile)) return (folder / kModuleFile).string();
  }
  return Status(StatusCode::kNotFound, std::string("there is no ") + kModuleFile +
                                           ": build or install it, or name it with --module");
}

std::string SdkHeaders() {
  const fs::path headers = OwnFolder() / "sdk/include";
  std::error_code ignored;
  return fs::is_directory(headers / "agent_graph", ignored) ? headers.string() : "";
}

}  // namespace agent_graph::cli
