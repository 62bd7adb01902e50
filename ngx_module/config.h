// What the directives leave behind. The structs that nginx fills by offset are plain; everything
// with a constructor lives on the heap and dies with the cycle's pool.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/sealed_copy.h"
#include "ngx.h"
#include "settings/settings.h"

namespace agent_graph::nginx {

// One agent_graph_service.
struct ServiceConfig {
  std::string name;
  std::string file;
  std::string state_directory;
  int threads = 0;  // engine threads of one worker; 0: the worker's share of the processors
  size_t queue = 1024;
  std::shared_ptr<const settings::Settings> settings;
  ngx_cycle_t* cycle = nullptr;
  size_t index = 0;   // in ServiceList
  bool used = false;  // some location serves it
  ngx_shm_zone_t* zone = nullptr;
  ngx_uint_t generation = 0;  // counts the configurations this nginx has read
};

using ServiceList = std::vector<std::unique_ptr<ServiceConfig>>;

class Documentation;
struct Viewers;
using ViewerFolders = std::map<std::string, std::shared_ptr<const Viewers>>;  // by path

struct MainConfig {
  ServiceList* services;
  ViewerFolders* viewers;
  SealedCopies* copies;  // of the files that services load
  ngx_msec_t exit_timeout;
  ngx_msec_t shutdown_jitter;
};

enum class OnAbort : ngx_uint_t { kCancel, kContinue };

struct LocationConfig {
  ngx_flag_t enabled;  // agent_graph NAME: 1, agent_graph off: 0
  ServiceConfig* service;
  ngx_str_t base_path;
  ngx_str_t url_prefix;  // base_path as URLs have it, without a slash at its end
  bool plain_prefix;     // the location's name is one
  size_t credit_high;
  size_t credit_low;
  ngx_msec_t run_timeout;
  ngx_uint_t status_format;  // of agent_graph_status
  ngx_uint_t on_abort;       // OnAbort
  size_t json_max_size;      // NGX_CONF_UNSET_SIZE: as service.json says
  ngx_msec_t socket_ping;    // 0: off
  ngx_msec_t socket_pong_timeout;
  ngx_msec_t socket_close_timeout;
  size_t socket_max_message;           // NGX_CONF_UNSET_SIZE: as large as a JSON body
  ngx_str_t docs;                      // agent_graph_docs: the viewers' folder, or "off"
  const Documentation* documentation;  // null: not served
  const ngx_array_t* error_pages;      // of "error_page", own or inherited
  bool own_error_pages;                // some of these belong to a location, not to the server
};

extern ngx_command_t kDirectives[];

void* CreateMainConfig(ngx_conf_t* cf) noexcept;
char* InitMainConfig(ngx_conf_t* cf, void* conf) noexcept;
void* CreateLocationConfig(ngx_conf_t* cf) noexcept;
char* MergeLocationConfig(ngx_conf_t* cf, void* parent, void* child) noexcept;
// Refuses a state directory that somebody else owns or may read.
ngx_int_t CheckStateDirectories(ngx_conf_t* cf) noexcept;

// agent_graph_service (service_directive.cc).
char* ServiceDirective(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
// Manager callback of the state directory (state_owner.cc): runs in nginx's cache manager.
ngx_msec_t RunStateOwner(void* service_config) noexcept;
// Zone callback (validation.cc): last step of reading a configuration, in the master.
ngx_int_t ValidateService(ngx_shm_zone_t* zone, void* previous) noexcept;

// agent_graph NAME: the content handler (handler.cc).
ngx_int_t HandleRequest(ngx_http_request_t* request) noexcept;

// service.json's limit unless the location has its own.
uint64_t BodyBytesMax(const LocationConfig& location);

ServiceConfig* FindService(ServiceList& services, std::string_view name);

}  // namespace agent_graph::nginx
