// agent-graph run: becomes an nginx that serves the agent of a folder.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "base/errno_text.h"
#include "base/file_descriptor.h"
#include "cli/command.h"
#include "cli/file_type.h"
#include "cli/installation.h"
#include "cli/templates.h"

namespace agent_graph::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kAddress[] = "127.0.0.1:8000";  // in the nginx.conf of `init`
constexpr char kModuleName[] = "ngx_http_agent_graph_module.so";
constexpr int64_t kPortDefault = 8000;
constexpr int64_t kPortMax = 65535;

constexpr Option kRunOptions[] = {
    {.name = "port", .value = "PORT", .help = "port to serve instead of 8000"},
    {.name = "nginx", .value = "FILE", .help = "nginx program to start"},
    {.name = "module", .value = "FILE", .help = "ngx_http_agent_graph_module.so"},
};

Status Failure(const std::string& text) {
  return Status(StatusCode::kUnavailable, text);
}

std::string AddressOf(int64_t port) {
  return "127.0.0.1:" + std::to_string(port);
}

// The folders that nginx.conf names, and a link to the module.
Status PrepareFolders(const fs::path& run, const std::string& module) {
  std::error_code error;
  for (const char* folder : {"logs", "temp", "modules"}) {
    fs::create_directories(run / folder, error);
    if (error) return Failure((run / folder).string() + ": " + error.message());
  }
  const fs::path link = run / "modules" / kModuleName;
  fs::remove(link, error);
  fs::create_symlink(module, link, error);
  if (error) return Failure(link.string() + ": " + error.message());
  return Status::Ok();
}

// Writes nginx.conf with another port beside it, because paths in it start at its folder.
Result<fs::path> WithPort(const fs::path& configuration, int64_t port) {
  std::ifstream in(configuration, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  if (!in) return Failure(configuration.string() + ": cannot be read");
  if (text.find(kAddress) == std::string::npos) {
    return Failure(configuration.string() + ": has no `listen " + kAddress +
                   "`, which --port would replace: write the port there");
  }
  const std::string address = AddressOf(port);
  for (size_t at = 0; (at = text.find(kAddress, at)) != std::string::npos; at += address.size()) {
    text.replace(at, sizeof kAddress - 1, address);
  }
  const fs::path changed = configuration.parent_path() / ".nginx.port.conf";
  std::ofstream out(changed, std::ios::binary);
  out << text;
  out.close();
  if (!out) return Failure(changed.string() + ": cannot be written");
  return changed;
}

// The name localhost, which documents use, may mean this address first.
bool IsServedOnIpv6(int64_t port) {
  const FileDescriptor probe(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  name.sin6_port = htons(static_cast<uint16_t>(port));
  name.sin6_addr = in6addr_loopback;
  return connect(probe.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0;
}

// True if nginx.conf has the address that `init` has written, and not one that the user has chosen.
bool Listens(const fs::path& configuration, const std::string& address) {
  std::ifstream in(configuration, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  return text.find("listen " + address) != std::string::npos;
}

// Reports a port that is in use at once; nginx would retry for seconds and log the error five
// times.
Status CheckPort(int64_t port) {
  const FileDescriptor probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int reuse = 1;
  setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<uint16_t>(port));
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(probe.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0 ||
      errno != EADDRINUSE) {
    return Status::Ok();
  }
  return Failure(AddressOf(port) +
                 " is in use by another program: stop it, or choose a port with --port");
}

void WarnOfIpv6(int64_t port, std::FILE* err) {
  if (!IsServedOnIpv6(port)) return;
  std::fprintf(err,
               "agent-graph: another program answers on [::1]:%lld, which \"localhost\" may mean: "
               "use 127.0.0.1, or choose a port with --port\n",
               static_cast<long long>(port));
}

Status Execute(std::vector<std::string> words) {
  std::vector<char*> vector;
  vector.reserve(words.size() + 1);
  for (std::string& word : words) vector.push_back(word.data());
  vector.push_back(nullptr);
  execv(vector[0], vector.data());
  return Failure(words[0] + ": cannot be started: " + ErrnoText(errno));
}

Status RunRun(const Arguments& arguments, const Streams& streams) {
  AG_ASSIGN_OR_RETURN(const int64_t port, arguments.Number("port", kPortDefault, 1, kPortMax));
  AG_ASSIGN_OR_RETURN(const std::string nginx, FindNginx(arguments.Value("nginx", "")));
  AG_ASSIGN_OR_RETURN(const std::string module, FindModule(arguments.Value("module", "")));
  const fs::path directory =
      fs::absolute(arguments.operands().empty() ? "." : arguments.operands()[0]).lexically_normal();
  AG_ASSIGN_OR_RETURN(const fs::file_type type, FileTypeOf(directory));
  if (type == fs::file_type::regular) {
    return Status(StatusCode::kNotFound, directory.string() + ": is a file; name its folder, " +
                                             directory.parent_path().string());
  }
  fs::path configuration = directory / "nginx.conf";
  AG_ASSIGN_OR_RETURN(const fs::file_type found, FileTypeOf(configuration));
  if (found == fs::file_type::not_found) {
    return Status(StatusCode::kNotFound,
                  configuration.string() + ": does not exist; " + kInitAdvice);
  }
  AG_RETURN_IF_ERROR(PrepareFolders(directory / "run", module));
  if (arguments.Has("port")) {
    AG_ASSIGN_OR_RETURN(configuration, WithPort(configuration, port));
  }
  std::string place;
  if (Listens(configuration, AddressOf(port))) {
    AG_RETURN_IF_ERROR(CheckPort(port));
    WarnOfIpv6(port, streams.err);
    place = " on http://" + AddressOf(port);
  }
  std::fprintf(streams.out, "Serving %s%s (Ctrl-C ends it)\n", directory.c_str(), place.c_str());
  std::fflush(streams.out);
  // Workers of root would run as another user, who may not write to this folder.
  const std::string globals = geteuid() == 0 ? "daemon off; user root;" : "daemon off;";
  return Execute({nginx, "-p", (directory / "run").string() + "/", "-c", configuration.string(),
                  "-e", "stderr", "-g", globals});
}

}  // namespace

const Command kRunCommand = {
    .name = "run",
    .operands = "[DIRECTORY]",
    .operands_min = 0,
    .operands_max = 1,
    .summary = "serves the agent of a folder, in the foreground",
    .help =
        "Starts nginx with the nginx.conf of the folder (the current one by default), as\n"
        "`agent-graph init` writes it. State, uploads and logs are kept in DIRECTORY/run.\n",
    .options = kRunOptions,
    .run = RunRun,
};

}  // namespace agent_graph::cli
