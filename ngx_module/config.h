// Configuration structs that the directives fill. Structs that nginx fills by offset are plain
// data; objects with constructors live on the heap and are destroyed with the cycle's pool.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/sealed_copy.h"
#include "ngx_module/ngx.h"
#include "settings/settings.h"

namespace agent_graph::nginx {

// One agent_graph_service directive.
struct ServiceConfig {
  std::string name;
  std::string file;
  std::string state_directory;
  int threads = 0;  // engine threads of one worker; 0: the worker's share of the processors
  size_t queue = 1024;
  std::shared_ptr<const settings::Settings> settings;
  ngx_cycle_t* cycle = nullptr;
  size_t index = 0;   // index in ServiceList
  bool used = false;  // at least one location serves it
  ngx_shm_zone_t* zone = nullptr;
  ngx_shm_zone_t* durations = nullptr;  // histograms (status/duration_zone.h)
  ngx_uint_t generation = 0;            // number of configurations this nginx has read
};

using ServiceList = std::vector<std::unique_ptr<ServiceConfig>>;

class Documentation;
class Studio;
struct Viewers;
using ViewerFolders = std::map<std::string, std::shared_ptr<const Viewers>>;  // key: path
using StudioFolders = std::map<std::string, std::shared_ptr<const Studio>>;   // key: path

struct MainConfig {
  ServiceList* services;
  ViewerFolders* viewers;
  StudioFolders* studios;
  SealedCopies* copies;  // sealed copies of the files that services load
  ngx_msec_t exit_timeout;
  ngx_msec_t shutdown_jitter;
  ngx_msec_t handover;
};

// Value of agent_graph_on_abort: what happens to a run whose client disconnects.
enum class OnAbort : ngx_uint_t { kCancel, kContinue };

struct LocationConfig {
  ngx_flag_t enabled;  // agent_graph NAME: 1, agent_graph off: 0
  ServiceConfig* service;
  ngx_str_t base_path;
  ngx_str_t url_prefix;  // base_path as it appears in URLs, without a trailing slash
  bool plain_prefix;     // the location's name is a plain prefix
  size_t credit_high;
  size_t credit_low;
  ngx_msec_t run_timeout;
  ngx_uint_t status_format;  // format option of agent_graph_status
  ngx_uint_t on_abort;       // an OnAbort value
  size_t json_max_size;      // NGX_CONF_UNSET_SIZE: use the limit of service.json
  ngx_msec_t socket_ping;    // 0: off
  ngx_msec_t socket_pong_timeout;
  ngx_msec_t socket_close_timeout;
  size_t socket_max_message;              // NGX_CONF_UNSET_SIZE: use the limit of JSON bodies
  ngx_http_complex_value_t* user;         // agent_graph_user; null: not set
  ngx_http_complex_value_t* user_claims;  // agent_graph_user_claims; null: not set
  ngx_str_t docs;                         // agent_graph_docs: the viewers' folder, or "off"
  const Documentation* documentation;     // null: not served
  ngx_str_t ui;                           // agent_graph_ui: "on", "off" or a folder; null: not set
  const Studio* studio;                   // null: not served
  const ngx_array_t* error_pages;         // error_page directives, own or inherited
  bool own_error_pages;                   // true: some were set in a location, not in the server
};

extern ngx_command_t kDirectives[];

// nginx calls these to create, complete and merge configurations.
void* CreateMainConfig(ngx_conf_t* cf) noexcept;
char* InitMainConfig(ngx_conf_t* cf, void* conf) noexcept;
void* CreateLocationConfig(ngx_conf_t* cf) noexcept;
char* MergeLocationConfig(ngx_conf_t* cf, void* parent, void* child) noexcept;

// Rejects a state directory that belongs to another user or is accessible to group or others.
ngx_int_t CheckStateDirectories(ngx_conf_t* cf) noexcept;

// Handler of the directive agent_graph_service (config/service_directive.cc).
char* ServiceDirective(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
// Manager callback of the state directory (process/state_server.cc). Runs in nginx's cache manager
// process.
ngx_msec_t RunStateServer(void* service_config) noexcept;
// Zone callback (config/validation.cc): the last step of reading a configuration. Runs in the
// master.
ngx_int_t ValidateService(ngx_shm_zone_t* zone, void* previous) noexcept;

// Content handler of "agent_graph NAME" (handlers/handler.cc).
ngx_int_t HandleRequest(ngx_http_request_t* request) noexcept;

// The limit of a request body in bytes: the location's own, otherwise that of service.json.
uint64_t BodyBytesMax(const LocationConfig& location);

// The first of the folders that exists, otherwise the first.
std::string_view FirstExisting(std::span<const char* const> folders) noexcept;

// Null if there is no http block.
MainConfig* FindMainConfig(const ngx_cycle_t& cycle);

// agent_graph_shutdown_jitter of this process, in milliseconds.
ngx_msec_t ShutdownJitter();

// Null if there is no service of that name.
ServiceConfig* FindService(ServiceList& services, std::string_view name);

}  // namespace agent_graph::nginx
