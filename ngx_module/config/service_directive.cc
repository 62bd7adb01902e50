// agent_graph_service NAME FILE [threads=auto|N] [queue=N] [zone=name:size] [state=DIR];
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>

#include "base/errno_text.h"
#include "base/file_descriptor.h"
#include "base/text.h"
#include "base/text_position.h"
#include "ngx_module/callback.h"
#include "ngx_module/config.h"
#include "ngx_module/directive_values.h"
#include "ngx_module/environment.h"
#include "ngx_module/status/duration_zone.h"
#include "ngx_module/status/service_zone.h"
#include "service/copied_files.h"
#include "service/file_storage.h"
#include "service/settings_checks.h"

namespace agent_graph::nginx {
namespace {

constexpr size_t kServiceFileBytesMax = 4 * 1024 * 1024;
constexpr ngx_int_t kThreadsMax = 256;
constexpr ngx_int_t kQueueMax = 1'000'000;
constexpr size_t kDefaultZoneBytes = 1024 * 1024;
constexpr std::string_view kDefaultStateParent = "/var/lib/nginx/agent-graph/";
constexpr mode_t kStateParentMode = 0755;

char* const kFailed = static_cast<char*>(NGX_CONF_ERROR);

// The arguments after NAME and FILE as written; paths may be relative.
struct Options {
  std::string_view zone_name;
  size_t zone_size = kDefaultZoneBytes;
  std::string_view state;
};

bool ParseCount(std::string_view text, ngx_int_t max, ngx_int_t& count) {
  count = ngx_atoi(reinterpret_cast<u_char*>(const_cast<char*>(text.data())), text.size());
  return count != NGX_ERROR && count > 0 && count <= max;
}

bool ParseZone(std::string_view text, Options& options) {
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  ngx_str_t size_text = Reference(text.substr(colon + 1));
  ssize_t size = ngx_parse_size(&size_text);
  if (size == NGX_ERROR || size < static_cast<ssize_t>(8 * ngx_pagesize)) return false;
  options.zone_name = text.substr(0, colon);
  options.zone_size = size;
  return true;
}

char* ParseOptions(ngx_conf_t* cf, ServiceConfig& service, Options& options) {
  auto* arguments = static_cast<ngx_str_t*>(cf->args->elts);
  std::set<std::string_view> seen;
  for (ngx_uint_t i = 3; i < cf->args->nelts; ++i) {
    std::string_view text = View(arguments[i]);
    size_t equals = text.find('=');
    std::string_view key = text.substr(0, equals);
    std::string_view value = equals == std::string_view::npos ? "" : text.substr(equals + 1);
    ngx_int_t count = 0;
    if (!seen.insert(key).second) return RefuseValue(cf, arguments[i], "is there twice");
    if (key == "threads") {
      if (value != "auto" && !ParseCount(value, kThreadsMax, count)) {
        return RefuseValue(cf, arguments[i], "is not threads=auto or threads= with 1 to 256");
      }
      service.threads = static_cast<int>(count);
    } else if (key == "queue") {
      if (!ParseCount(value, kQueueMax, count)) {
        return RefuseValue(cf, arguments[i], "is not queue= with 1 to 1000000");
      }
      service.queue = count;
    } else if (key == "zone") {
      if (!ParseZone(value, options)) {
        return RefuseValue(cf, arguments[i],
                           "is not zone=name:size with a size of at least 8 pages");
      }
    } else if (key == "state") {
      if (value.empty()) return RefuseValue(cf, arguments[i], "is not state= with a directory");
      if (value.starts_with('~')) {
        return RefuseValue(cf, arguments[i], "begins with \"~\", which nginx does not expand");
      }
      if (RefuseVariables(cf, arguments[i]) != NGX_CONF_OK) return kFailed;
      options.state = value;
    } else {
      return RefuseValue(cf, arguments[i], "is not one of threads=, queue=, zone=, state=");
    }
  }
  return NGX_CONF_OK;
}

// Makes `text` absolute, relative to the configuration's folder or to the prefix.
bool FullName(ngx_conf_t* cf, std::string_view text, bool beside_configuration, std::string& out) {
  ngx_str_t name = CopyToPool(cf->pool, text);
  if (name.data == nullptr) return false;
  if (ngx_conf_full_name(cf->cycle, &name, beside_configuration ? 1 : 0) != NGX_OK) return false;
  out = View(name);
  return true;
}

Result<std::string> ReadWholeFile(const std::string& path) {
  auto fail = [](std::string reason) {
    return Status(StatusCode::kInvalidArgument, std::move(reason));
  };
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail(ErrnoText(errno));
  std::string text;
  char buffer[8 * 1024];
  ssize_t count;
  while ((count = read(file.get(), buffer, sizeof(buffer))) > 0) {
    text.append(buffer, count);
    if (text.size() > kServiceFileBytesMax) return fail("larger than 4 MiB");
  }
  if (count < 0) return fail(ErrnoText(errno));
  return text;
}

char* RefuseFile(ngx_conf_t* cf, const ServiceConfig& service, const Status& status) {
  const std::string line = OneLine(FileProblem(service.file, status), NGX_MAX_ERROR_STR);
  ngx_str_t text = Reference(line);
  ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "agent_graph_service \"%s\": %V", service.name.c_str(),
                     &text);
  return kFailed;
}

void Warn(ngx_conf_t* cf, const ServiceConfig& service, const std::string& warning) {
  const std::string shown = OneLine(warning, NGX_MAX_ERROR_STR);
  ngx_str_t line = Reference(shown);
  ngx_conf_log_error(NGX_LOG_WARN, cf, 0, "agent_graph_service \"%s\": %s: %V",
                     service.name.c_str(), service.file.c_str(), &line);
}

void WarnWithoutExtractor(ngx_conf_t* cf, const ServiceConfig& service) {
  using Documents = settings::MediaSettings::Documents;
  if (service.settings->media.documents != Documents::kExtractText) return;
  const std::string program = service::ExtractorProgram();
  if (access(program.c_str(), X_OK) == 0) return;
  const std::string reason = ErrnoText(errno);
  Warn(cf, service, "media: documents will have no text, " + program + " cannot be run: " + reason);
}

// Reads service.json with nginx's start environment (workers have none) and copies the files that
// it names.
char* LoadSettings(ngx_conf_t* cf, ServiceConfig& service, SealedCopies& copies) {
  Result<std::string> text = ReadWholeFile(service.file);
  if (!text.ok()) {
    const bool is_relative = !View(static_cast<ngx_str_t*>(cf->args->elts)[2]).starts_with('/');
    return RefuseFile(cf, service,
                      is_relative ? InvalidArgument(text.status().message() +
                                                    "; the path starts at the folder of nginx.conf")
                                  : text.status());
  }
  Result<settings::Settings> loaded = settings::Load(service.file, *text, StartEnvironment());
  if (!loaded.ok()) return RefuseFile(cf, service, loaded.status());
  if (Status copied = service::CopyFiles(*loaded, copies); !copied.ok()) {
    return RefuseFile(cf, service, copied);
  }
  auto settings = std::make_shared<const settings::Settings>(std::move(loaded).value());
  for (const std::string& warning : settings->warnings) Warn(cf, service, warning);
  for (const std::string& warning : service::UnusedScopes(*settings)) Warn(cf, service, warning);
  service.settings = std::move(settings);
  WarnWithoutExtractor(cf, service);
  return NGX_CONF_OK;
}

// Creates the parents of the state directory; nginx creates only the directory itself.
void CreateParents(const std::string& directory) {
  for (size_t slash = directory.find('/', 1); slash != std::string::npos;
       slash = directory.find('/', slash + 1)) {
    // Ignored: if it matters, CheckStateDirectories reports it.
    (void)mkdir(directory.substr(0, slash).c_str(), kStateParentMode);
  }
}

// Registers the state directory: nginx creates it, gives it to the workers' user, and starts the
// cache manager process, which acts as the state server.
char* AddStatePath(ngx_conf_t* cf, ServiceConfig& service) {
  auto* path = static_cast<ngx_path_t*>(ngx_pcalloc(cf->pool, sizeof(ngx_path_t)));
  if (path == nullptr) return kFailed;
  path->name = CopyToPool(cf->pool, service.state_directory);
  if (path->name.data == nullptr) return kFailed;
  path->manager = RunStateServer;
  path->data = &service;
  path->conf_file = cf->conf_file->file.name.data;
  path->line = cf->conf_file->line;
  return ngx_add_path(cf, &path) == NGX_OK ? NGX_CONF_OK : kFailed;
}

char* AddZone(ngx_conf_t* cf, ServiceConfig& service, const Options& options) {
  std::string name =
      options.zone_name.empty() ? "agent_graph_" + service.name : std::string(options.zone_name);
  ngx_str_t zone_name = CopyToPool(cf->pool, name);
  if (zone_name.data == nullptr) return kFailed;
  ngx_shm_zone_t* zone =
      ngx_shared_memory_add(cf, &zone_name, options.zone_size, &ngx_http_agent_graph_module);
  if (zone == nullptr) return kFailed;
  if (zone->data != nullptr) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "\"agent_graph_service\": zone \"%V\" belongs to another service",
                       &zone_name);
    return kFailed;
  }
  zone->init = ValidateService;
  zone->data = &service;
  service.zone = zone;
  ChooseZoneMemory(cf, zone, service);
  return AddDurationZone(cf, service) ? NGX_CONF_OK : kFailed;
}

char* DeclareService(ngx_conf_t* cf, MainConfig& main) {
  auto* arguments = static_cast<ngx_str_t*>(cf->args->elts);
  auto service = std::make_unique<ServiceConfig>();
  service->name = View(arguments[1]);
  service->cycle = cf->cycle;
  service->index = main.services->size();
  static ngx_uint_t generation = 0;
  if (main.services->empty()) ++generation;
  service->generation = generation;
  if (service->name == "off" || service->name.empty() ||
      service->name.find('/') != std::string::npos) {
    return RefuseValue(
        cf, arguments[1],
        "cannot be the name of a service: that is not empty, not off, and has no slash");
  }
  if (FindService(*main.services, service->name) != nullptr) {
    ngx_conf_log_error(
        NGX_LOG_EMERG, cf, 0,
        "\"agent_graph_service\": service \"%V\" is there twice: give each its own name",
        &arguments[1]);
    return kFailed;
  }

  Options options;
  if (char* failure = ParseOptions(cf, *service, options); failure != NGX_CONF_OK) return failure;
  std::string state = options.state.empty() ? std::string(kDefaultStateParent) + service->name
                                            : std::string(options.state);
  while (state.size() > 1 && state.ends_with('/')) state.pop_back();
  if (!FullName(cf, View(arguments[2]), true, service->file)) return kFailed;
  if (!FullName(cf, state, false, service->state_directory)) return kFailed;

  for (const auto& other : *main.services) {
    if (other->state_directory != service->state_directory) continue;
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "agent_graph_service \"%s\": has the state directory %s of service \"%s\"; "
                       "give each its own with state=",
                       service->name.c_str(), service->state_directory.c_str(),
                       other->name.c_str());
    return kFailed;
  }

  // "nginx -s" needs only the pid file: a broken service must not prevent stopping nginx.
  if (ngx_process != NGX_PROCESS_SIGNALLER) {
    char* failure = LoadSettings(cf, *service, *main.copies);
    if (failure != NGX_CONF_OK) return failure;
    CreateParents(service->state_directory);
  }
  if (char* failure = AddStatePath(cf, *service); failure != NGX_CONF_OK) return failure;
  if (char* failure = AddZone(cf, *service, options); failure != NGX_CONF_OK) return failure;
  main.services->push_back(std::move(service));
  return NGX_CONF_OK;
}

}  // namespace

char* ServiceDirective(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept {
  return Guarded(cf->log, kFailed,
                 [&] { return DeclareService(cf, *static_cast<MainConfig*>(conf)); });
}

}  // namespace agent_graph::nginx
