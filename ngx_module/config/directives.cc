#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "ngx_module/callback.h"
#include "ngx_module/config.h"
#include "ngx_module/directive_values.h"
#include "ngx_module/handlers/documentation.h"
#include "ngx_module/handlers/status_page.h"
#include "ngx_module/handlers/studio.h"
#include "ngx_module/request/base_path.h"
#include "ngx_module/request/nginx_user.h"

namespace agent_graph::nginx {
namespace {

constexpr size_t kDefaultCreditHigh = 256 * 1024;
constexpr size_t kDefaultCreditLow = 64 * 1024;
constexpr ngx_msec_t kDefaultRunTimeout = 10 * 60 * 1000;
constexpr ngx_msec_t kDefaultExitTimeout = 2000;
constexpr ngx_msec_t kDefaultShutdownJitter = 10'000;
constexpr ngx_msec_t kDefaultHandover = 300'000;
constexpr ngx_msec_t kDefaultSocketPing = 20'000;
constexpr ngx_msec_t kDefaultPongTimeout = 20'000;
constexpr ngx_msec_t kDefaultSocketCloseTimeout = 5000;
// Where packages and `make install` put the viewers of /docs.
constexpr std::array kDocsFolders = {"/usr/share/agent-graph/docs",
                                     "/usr/local/share/agent-graph/docs"};

char* RefuseOtherHandler(ngx_conf_t* cf, const ngx_http_core_loc_conf_t* core) {
  ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                     "\"agent_graph\" and another directive of location \"%V\", such as "
                     "\"proxy_pass\", would both answer its requests: remove one of them",
                     &core->name);
  return static_cast<char*>(NGX_CONF_ERROR);
}

// agent_graph NAME | off;
char* ServeDirective(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept {
  auto* location = static_cast<LocationConfig*>(conf);
  if (location->enabled != NGX_CONF_UNSET) return const_cast<char*>("is duplicate");
  auto* arguments = static_cast<ngx_str_t*>(cf->args->elts);
  auto* core = static_cast<ngx_http_core_loc_conf_t*>(
      ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
  location->enabled = View(arguments[1]) != "off";
  if (!location->enabled) return NGX_CONF_OK;
  if (core->handler != nullptr) return RefuseOtherHandler(cf, core);
  core->handler = HandleRequest;

  auto* main =
      static_cast<MainConfig*>(ngx_http_conf_get_module_main_conf(cf, ngx_http_agent_graph_module));
  location->service = FindService(*main->services, View(arguments[1]));
  if (location->service == nullptr) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "\"agent_graph\": unknown service \"%V\", declare it before with "
                       "\"agent_graph_service\"",
                       &arguments[1]);
    return static_cast<char*>(NGX_CONF_ERROR);
  }
  location->service->used = true;
  return NGX_CONF_OK;
}

// agent_graph_buffers HIGH LOW;
char* BuffersDirective(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept {
  auto* location = static_cast<LocationConfig*>(conf);
  if (location->credit_high != NGX_CONF_UNSET_SIZE) return const_cast<char*>("is duplicate");
  auto* arguments = static_cast<ngx_str_t*>(cf->args->elts);
  ssize_t high = ngx_parse_size(&arguments[1]);
  ssize_t low = ngx_parse_size(&arguments[2]);
  if (high == NGX_ERROR || low == NGX_ERROR || low <= 0 || high <= low) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "\"agent_graph_buffers\": \"%V %V\" is not two sizes above 0, such as "
                       "\"256k 64k\", the first above the second",
                       &arguments[1], &arguments[2]);
    return static_cast<char*>(NGX_CONF_ERROR);
  }
  location->credit_high = high;
  location->credit_low = low;
  return NGX_CONF_OK;
}

// agent_graph_ws_ping INTERVAL [timeout=TIME] | off;
char* PingDirective(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept {
  auto* location = static_cast<LocationConfig*>(conf);
  if (location->socket_ping != NGX_CONF_UNSET_MSEC) return const_cast<char*>("is duplicate");
  auto* arguments = static_cast<ngx_str_t*>(cf->args->elts);
  if (cf->args->nelts == 2 && View(arguments[1]) == "off") {
    location->socket_ping = 0;
    return NGX_CONF_OK;
  }
  ngx_int_t interval = ngx_parse_time(&arguments[1], 0);
  ngx_int_t timeout = kDefaultPongTimeout;
  if (cf->args->nelts == 3) {
    std::string_view option = View(arguments[2]);
    constexpr std::string_view kTimeout = "timeout=";
    if (!option.starts_with(kTimeout)) {
      return RefuseValue(cf, arguments[2], "is not \"timeout=TIME\"");
    }
    ngx_str_t text = Reference(option.substr(kTimeout.size()));
    timeout = ngx_parse_time(&text, 0);
  }
  if (interval == NGX_ERROR || interval == 0) {
    return RefuseValue(cf, arguments[1], "is neither a time above 0, such as 20s, nor \"off\"");
  }
  if (timeout == NGX_ERROR || timeout == 0) {
    return RefuseValue(cf, arguments[2], "is not \"timeout=TIME\" with a time above 0");
  }
  location->socket_ping = interval;
  location->socket_pong_timeout = timeout;
  return NGX_CONF_OK;
}

ngx_conf_enum_t kOnAbort[] = {
    {ngx_string("cancel"), static_cast<ngx_uint_t>(OnAbort::kCancel)},
    {ngx_string("continue"), static_cast<ngx_uint_t>(OnAbort::kContinue)},
    {ngx_null_string, 0},
};

char* CheckBasePath(ngx_conf_t* cf, void*, void* value) noexcept {
  const auto& path = *static_cast<ngx_str_t*>(value);
  if (!View(path).starts_with('/')) return RefuseValue(cf, path, "does not begin with \"/\"");
  return RefuseVariables(cf, path);
}

char* CheckDocs(ngx_conf_t* cf, void*, void* value) noexcept {
  const auto& folder = *static_cast<ngx_str_t*>(value);
  if (View(folder) == "on") return RefuseValue(cf, folder, "is neither a folder nor \"off\"");
  return CheckFolder(cf, folder);
}

char* CheckUi(ngx_conf_t* cf, void*, void* value) noexcept {
  const auto& folder = *static_cast<ngx_str_t*>(value);
  return View(folder) == "on" ? NGX_CONF_OK : CheckFolder(cf, folder);
}

ngx_conf_post_t kAbsolutePath = {CheckBasePath};
ngx_conf_post_t docs_check = {CheckDocs};
ngx_conf_post_t ui_check = {CheckUi};

bool IsPlainPrefix(const ngx_http_core_loc_conf_t* core) {
#if (NGX_PCRE)
  if (core->regex != nullptr) return false;
#endif
  return !core->exact_match && !core->named;
}

// Chooses the prefix to strip from request paths. A location whose name is not a plain prefix has
// no default.
char* ChooseBasePath(ngx_conf_t* cf, LocationConfig* location) {
  if (location->base_path.data != nullptr) return NGX_CONF_OK;
  auto* core = static_cast<ngx_http_core_loc_conf_t*>(
      ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
  if (!location->plain_prefix) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "\"agent_graph\" in location \"%V\", which is no plain prefix, needs "
                       "\"agent_graph_base_path\"",
                       &core->name);
    return static_cast<char*>(NGX_CONF_ERROR);
  }
  location->base_path = core->name;
  return NGX_CONF_OK;
}

// Drops error pages that are inherited from the server: they are meant for its pages and would
// replace the JSON of our errors. An error_page in the location itself is kept.
void ForgetErrorPagesOfServer(const LocationConfig* previous, LocationConfig* location,
                              ngx_http_core_loc_conf_t* core) {
  const bool is_server = core->name.data == nullptr && !core->noname;
  location->error_pages = core->error_pages;
  location->own_error_pages =
      !is_server && core->error_pages != nullptr &&
      (previous->own_error_pages || core->error_pages != previous->error_pages);
  if (location->enabled == 1 && !location->own_error_pages) core->error_pages = nullptr;
}

// Computes the URL prefix and the pages, which depend on the base path.
char* PrepareBasePath(ngx_conf_t* cf, LocationConfig* location) {
  auto* failed = static_cast<char*>(NGX_CONF_ERROR);
  char* prepared = Guarded<char*>(cf->log, failed, [&]() -> char* {
    location->url_prefix = CopyToPool(cf->pool, UrlPrefix(View(location->base_path)));
    return location->url_prefix.data == nullptr ? failed : NGX_CONF_OK;
  });
  if (prepared == NGX_CONF_OK) prepared = PrepareDocumentation(cf, *location);
  return prepared == NGX_CONF_OK ? PrepareStudio(cf, *location) : prepared;
}

constexpr off_t kMebibyte = 1024 * 1024;

void WarnAboutBodySize(ngx_conf_t* cf, const LocationConfig* location) {
  if (location->service->settings == nullptr) return;
  auto* core = static_cast<ngx_http_core_loc_conf_t*>(
      ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
  off_t limit = location->json_max_size != NGX_CONF_UNSET_SIZE
                    ? static_cast<off_t>(location->json_max_size)
                    : static_cast<off_t>(location->service->settings->limits.json_bytes_max);
  limit = std::max(limit, static_cast<off_t>(location->service->settings->media.file_bytes_max()));
  if (core->client_max_body_size == 0 || core->client_max_body_size >= limit) return;
  ngx_conf_log_error(NGX_LOG_WARN, cf, 0,
                     "\"client_max_body_size\" of location \"%V\" is below the service's own "
                     "limit of %O bytes and refuses requests first: write "
                     "\"client_max_body_size %Om\"",
                     &core->name, limit, limit / kMebibyte + 1);
}

void DeleteMainConfig(void* conf) noexcept {
  auto* main = static_cast<MainConfig*>(conf);
  delete main->viewers;
  delete main->studios;
  delete main->services;
  delete main->copies;
}

}  // namespace

ngx_command_t kDirectives[] = {
    {ngx_string("agent_graph_service"), NGX_HTTP_MAIN_CONF | NGX_CONF_2MORE, ServiceDirective,
     NGX_HTTP_MAIN_CONF_OFFSET, 0, nullptr},
    {ngx_string("agent_graph"), NGX_HTTP_LOC_CONF | NGX_HTTP_LIF_CONF | NGX_CONF_TAKE1,
     ServeDirective, NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("agent_graph_status"), NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS | NGX_CONF_TAKE1,
     StatusDirective, NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("agent_graph_base_path"), NGX_HTTP_LOC_CONF | NGX_HTTP_LIF_CONF | NGX_CONF_TAKE1,
     ngx_conf_set_str_slot, NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocationConfig, base_path),
     &kAbsolutePath},
    {ngx_string("agent_graph_buffers"),
     NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_TAKE2, BuffersDirective,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("agent_graph_run_timeout"),
     NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_TAKE1,
     PositiveTimeDirective, NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocationConfig, run_timeout),
     nullptr},
    {ngx_string("agent_graph_on_abort"),
     NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_TAKE1, ChoiceDirective,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocationConfig, on_abort), kOnAbort},
    {ngx_string("agent_graph_json_max_size"),
     NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_TAKE1,
     PositiveSizeDirective, NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocationConfig, json_max_size),
     nullptr},
    {ngx_string("agent_graph_ws_ping"),
     NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_TAKE12, PingDirective,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    {ngx_string("agent_graph_ws_max_message"),
     NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_TAKE1,
     PositiveSizeDirective, NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocationConfig, socket_max_message),
     nullptr},
    {ngx_string("agent_graph_ws_close_timeout"),
     NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_TAKE1,
     PositiveTimeDirective, NGX_HTTP_LOC_CONF_OFFSET,
     offsetof(LocationConfig, socket_close_timeout), nullptr},
    {ngx_string("agent_graph_user"),
     NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_TAKE1, UserDirective,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocationConfig, user), nullptr},
    {ngx_string("agent_graph_user_claims"),
     NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_TAKE1, UserDirective,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocationConfig, user_claims), nullptr},
    {ngx_string("agent_graph_docs"),
     NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_TAKE1,
     ngx_conf_set_str_slot, NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocationConfig, docs), &docs_check},
    {ngx_string("agent_graph_ui"),
     NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_TAKE1,
     ngx_conf_set_str_slot, NGX_HTTP_LOC_CONF_OFFSET, offsetof(LocationConfig, ui), &ui_check},
    {ngx_string("agent_graph_shutdown_jitter"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, TimeDirective,
     NGX_HTTP_MAIN_CONF_OFFSET, offsetof(MainConfig, shutdown_jitter), nullptr},
    {ngx_string("agent_graph_handover"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, TimeDirective,
     NGX_HTTP_MAIN_CONF_OFFSET, offsetof(MainConfig, handover), nullptr},
    {ngx_string("agent_graph_exit_timeout"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, TimeDirective,
     NGX_HTTP_MAIN_CONF_OFFSET, offsetof(MainConfig, exit_timeout), nullptr},
    ngx_null_command,
};

ServiceConfig* FindService(ServiceList& services, std::string_view name) {
  for (const auto& service : services) {
    if (service->name == name) return service.get();
  }
  return nullptr;
}

std::string_view FirstExisting(std::span<const char* const> folders) noexcept {
  for (const char* folder : folders) {
    if (access(folder, F_OK) == 0) return folder;
  }
  return folders.front();
}

void* CreateMainConfig(ngx_conf_t* cf) noexcept {
  return Guarded<void*>(cf->log, nullptr, [&]() -> void* {
    auto* main = static_cast<MainConfig*>(ngx_pcalloc(cf->pool, sizeof(MainConfig)));
    ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(cf->pool, 0);
    if (main == nullptr || cleanup == nullptr) return nullptr;
    cleanup->handler = DeleteMainConfig;  // also if an allocation below fails
    cleanup->data = main;
    main->services = std::make_unique<ServiceList>().release();
    main->viewers = std::make_unique<ViewerFolders>().release();
    main->studios = std::make_unique<StudioFolders>().release();
    main->copies = std::make_unique<SealedCopies>().release();
    main->exit_timeout = NGX_CONF_UNSET_MSEC;
    main->shutdown_jitter = NGX_CONF_UNSET_MSEC;
    main->handover = NGX_CONF_UNSET_MSEC;
    return main;
  });
}

char* InitMainConfig(ngx_conf_t* cf, void* conf) noexcept {
  for (const auto& service : *static_cast<MainConfig*>(conf)->services) {
    if (service->used) continue;
    ngx_log_error(NGX_LOG_WARN, cf->log, 0,
                  "agent_graph_service \"%s\" is served nowhere: write \"agent_graph %s;\" in a "
                  "location",
                  service->name.c_str(), service->name.c_str());
  }
  ngx_conf_init_msec_value(static_cast<MainConfig*>(conf)->shutdown_jitter, kDefaultShutdownJitter);
  ngx_conf_init_msec_value(static_cast<MainConfig*>(conf)->exit_timeout, kDefaultExitTimeout);
  ngx_conf_init_msec_value(static_cast<MainConfig*>(conf)->handover, kDefaultHandover);
  return NGX_CONF_OK;
}

void* CreateLocationConfig(ngx_conf_t* cf) noexcept {
  auto* location = static_cast<LocationConfig*>(ngx_pcalloc(cf->pool, sizeof(LocationConfig)));
  if (location == nullptr) return nullptr;
  location->enabled = NGX_CONF_UNSET;
  location->credit_high = NGX_CONF_UNSET_SIZE;
  location->credit_low = NGX_CONF_UNSET_SIZE;
  location->run_timeout = NGX_CONF_UNSET_MSEC;
  location->on_abort = NGX_CONF_UNSET_UINT;
  location->json_max_size = NGX_CONF_UNSET_SIZE;
  location->socket_ping = NGX_CONF_UNSET_MSEC;
  location->socket_pong_timeout = NGX_CONF_UNSET_MSEC;
  location->socket_close_timeout = NGX_CONF_UNSET_MSEC;
  location->socket_max_message = NGX_CONF_UNSET_SIZE;
  return location;
}

char* MergeLocationConfig(ngx_conf_t* cf, void* parent, void* child) noexcept {
  auto* previous = static_cast<LocationConfig*>(parent);
  auto* location = static_cast<LocationConfig*>(child);
  auto* core = static_cast<ngx_http_core_loc_conf_t*>(
      ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));

  ngx_conf_merge_size_value(location->credit_high, previous->credit_high, kDefaultCreditHigh);
  ngx_conf_merge_size_value(location->credit_low, previous->credit_low, kDefaultCreditLow);
  ngx_conf_merge_msec_value(location->run_timeout, previous->run_timeout, kDefaultRunTimeout);
  ngx_conf_merge_uint_value(location->on_abort, previous->on_abort,
                            static_cast<ngx_uint_t>(OnAbort::kCancel));
  ngx_conf_merge_size_value(location->json_max_size, previous->json_max_size, NGX_CONF_UNSET_SIZE);
  ngx_conf_merge_msec_value(location->socket_ping, previous->socket_ping, kDefaultSocketPing);
  ngx_conf_merge_msec_value(location->socket_pong_timeout, previous->socket_pong_timeout,
                            kDefaultPongTimeout);
  ngx_conf_merge_msec_value(location->socket_close_timeout, previous->socket_close_timeout,
                            kDefaultSocketCloseTimeout);
  ngx_conf_merge_size_value(location->socket_max_message, previous->socket_max_message,
                            NGX_CONF_UNSET_SIZE);
  if (location->user == nullptr) location->user = previous->user;
  if (location->user_claims == nullptr) location->user_claims = previous->user_claims;
  if (location->docs.data == nullptr) {
    location->docs =
        previous->docs.data != nullptr ? previous->docs : Reference(FirstExisting(kDocsFolders));
  }
  if (location->ui.data == nullptr) location->ui = previous->ui;

  // A nested location has its own base path; "if" and "limit_except" blocks belong to the same
  // location.
  const bool own_base_path = location->base_path.data != nullptr;
  location->plain_prefix = core->noname ? previous->plain_prefix : IsPlainPrefix(core);
  if (core->noname && !own_base_path) location->base_path = previous->base_path;
  const bool inherits =
      location->enabled == NGX_CONF_UNSET && core->noname && previous->enabled == 1;
  if (inherits) location->enabled = previous->enabled;
  ForgetErrorPagesOfServer(previous, location, core);
  if (inherits) {
    location->service = previous->service;
    location->url_prefix = previous->url_prefix;
    location->documentation = previous->documentation;
    location->studio = previous->studio;
    if (core->lmt_excpt && core->handler == nullptr) core->handler = HandleRequest;
    return own_base_path ? PrepareBasePath(cf, location) : NGX_CONF_OK;
  }
  if (location->enabled != 1) return NGX_CONF_OK;
  if (core->handler != HandleRequest) return RefuseOtherHandler(cf, core);
  if (char* failure = ChooseBasePath(cf, location); failure != NGX_CONF_OK) return failure;
  if (char* failure = CheckUser(cf, *location); failure != NGX_CONF_OK) return failure;
  WarnAboutBodySize(cf, location);
  return PrepareBasePath(cf, location);
}

}  // namespace agent_graph::nginx
