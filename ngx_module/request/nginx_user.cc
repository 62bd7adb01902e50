#include "ngx_module/request/nginx_user.h"

#include <algorithm>
#include <utility>

#include "auth/jwt.h"
#include "ngx_module/directive_values.h"
#include "ngx_module/request/request_context.h"

namespace agent_graph::nginx {
namespace {

using Method = settings::AuthenticationSettings::Method;

// Variables whose value is a part of the request.
constexpr std::string_view kSentByClients[] = {
    "http_", "arg_", "cookie_", "args", "query_string", "uri", "document_uri", "request_uri",
};

// The first variable in `text` that clients choose; empty: there is none.
std::string_view FindClientVariable(std::string_view text) {
  for (size_t dollar = text.find('$'); dollar != text.npos; dollar = text.find('$', dollar + 1)) {
    std::string_view name = text.substr(dollar + 1);
    if (name.starts_with('{')) name.remove_prefix(1);
    const size_t end =
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    name = name.substr(0, end);
    const bool sent = std::ranges::any_of(kSentByClients, [&](std::string_view known) {
      return known.ends_with('_') ? name.starts_with(known) : name == known;
    });
    if (sent) return name;
  }
  return {};
}

// Copies a value, with one byte more than `bytes_max` at most: the engine refuses what is too long.
bool Evaluate(ngx_http_request_t* request, ngx_http_complex_value_t* value, size_t bytes_max,
              std::string& out) {
  ngx_str_t text;
  if (ngx_http_complex_value(request, value, &text) != NGX_OK) return false;
  out = View(text).substr(0, bytes_max + 1);
  return true;
}

// The configuration of another module in the location that is being merged. That module has merged
// it already, because the modules of nginx come before ours. Null: nginx was built without it.
const void* LocationOf(ngx_conf_t* cf, std::string_view module_name) {
  for (size_t i = 0; cf->cycle->modules[i] != nullptr; ++i) {
    const ngx_module_t& module = *cf->cycle->modules[i];
    if (module.name == module_name) return ngx_http_conf_get_module_loc_conf(cf, module);
  }
  return nullptr;
}

// The directive by which nginx checks callers in this location; empty: it does not. The structs of
// these modules are private, but in every version their first member is the directive's value.
std::string_view FindCheckOfCallers(ngx_conf_t* cf) {
  if (const void* basic = LocationOf(cf, "ngx_http_auth_basic_module"); basic != nullptr) {
    const auto* realm = *static_cast<ngx_http_complex_value_t* const*>(basic);
    const bool set = realm != nullptr && realm != NGX_CONF_UNSET_PTR;
    if (set && View(realm->value) != "off") return "auth_basic";
  }
  if (const void* request = LocationOf(cf, "ngx_http_auth_request_module"); request != nullptr) {
    const auto* uri = static_cast<const ngx_str_t*>(request);
    if (uri->data != nullptr && uri->len > 0) return "auth_request";
  }
  return {};
}

// nginx knows who calls, and the service does not: all of them see the same threads. An explicit
// `authorization` says that this is wanted, and has warnings of its own.
void WarnAboutSharedThreads(ngx_conf_t* cf, const ServiceConfig& service,
                            const ngx_str_t& location) {
  if (service.settings->authentication.method != Method::kNone ||
      service.settings->authorization.chosen) {
    return;
  }
  const std::string_view directive = FindCheckOfCallers(cf);
  if (directive.empty()) return;
  const ngx_str_t name = Reference(directive);
  ngx_conf_log_error(
      NGX_LOG_WARN, cf, 0,
      "\"%V\" in location \"%V\" checks the callers, but the service does not keep them "
      "apart: write \"auth\": \"nginx\" in %s and \"agent_graph_user\" here, or "
      "\"authorization\": \"allow_all\" if they share their threads",
      &name, &location, service.file.c_str());
}

// Another directive or a subrequest may have evaluated the variable, and nginx keeps its value.
void ForgetValueOfRemoteUser(ngx_http_request_t* request) {
  const auto* core = static_cast<ngx_http_core_main_conf_t*>(
      ngx_http_get_module_main_conf(request, ngx_http_core_module));
  const auto* variables = static_cast<const ngx_http_variable_t*>(core->variables.elts);
  for (ngx_uint_t i = 0; i < core->variables.nelts; ++i) {
    if (View(variables[i].name) != "remote_user") continue;
    request->variables[i].valid = 0;
    request->variables[i].not_found = 0;
  }
}

void WarnAboutUncheckedPassword(const ngx_http_request_t* request) {
  static bool warned = false;
  if (std::exchange(warned, true)) return;
  ngx_log_error(NGX_LOG_WARN, request->connection->log, 0,
                "agent_graph_user: $remote_user was sent by the client and no password was "
                "checked, this request and further ones are refused; auth_basic is missing here");
}

}  // namespace

char* UserDirective(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept {
  const ngx_str_t& text = static_cast<ngx_str_t*>(cf->args->elts)[1];
  if (View(text).find('$') == std::string_view::npos) {
    return RefuseValue(cf, text, "has no variable, so all callers would be the same");
  }
  if (std::string_view name = FindClientVariable(View(text)); !name.empty()) {
    ngx_str_t shown = Reference(name);
    ngx_conf_log_error(NGX_LOG_WARN, cf, 0,
                       "\"%V\": every client can choose the value of \"$%V\"; take it only from "
                       "addresses that you trust, for example by a map of $remote_addr",
                       static_cast<ngx_str_t*>(cf->args->elts), &shown);
  }
  return ngx_http_set_complex_value_slot(cf, command, conf);
}

char* CheckUser(ngx_conf_t* cf, const LocationConfig& location) {
  // Signals to a running nginx do not read the settings.
  if (location.service->settings == nullptr) return NGX_CONF_OK;
  const bool used = location.service->settings->authentication.method == Method::kNginx;
  auto* core = static_cast<ngx_http_core_loc_conf_t*>(
      ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
  const char* name = location.service->name.c_str();
  if (used && location.user == nullptr) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "\"agent_graph %s\" in location \"%V\": its \"auth\": \"nginx\" needs "
                       "\"agent_graph_user\", such as \"agent_graph_user $remote_user\"",
                       name, &core->name);
    return static_cast<char*>(NGX_CONF_ERROR);
  }
  // With "satisfy any" another check may admit the request although the password was wrong.
  if (used && core->satisfy == NGX_HTTP_SATISFY_ANY) {
    ngx_conf_log_error(
        NGX_LOG_EMERG, cf, 0,
        "\"agent_graph_user\" in location \"%V\" needs \"satisfy all\": with \"satisfy "
        "any\" the user may not have been checked",
        &core->name);
    return static_cast<char*>(NGX_CONF_ERROR);
  }
  if (!used && (location.user != nullptr || location.user_claims != nullptr)) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "\"%s\" in location \"%V\" has no effect: write \"auth\": \"nginx\" in %s, "
                       "or set the directive in other locations only",
                       location.user != nullptr ? "agent_graph_user" : "agent_graph_user_claims",
                       &core->name, location.service->file.c_str());
    return static_cast<char*>(NGX_CONF_ERROR);
  }
  WarnAboutSharedThreads(cf, *location.service, core->name);
  return NGX_CONF_OK;
}

ngx_int_t ForgetRemoteUser(ngx_http_request_t* request, const LocationConfig& location) {
  if (location.user == nullptr) return NGX_OK;
  ngx_str_t& user = request->headers_in.user;
  if (user.len > 0) {
    RequestContext* context = OpenContext(request, location);
    if (context == nullptr) return NGX_ERROR;
    context->names_user_early = true;
  }
  user = ngx_null_string;
  return NGX_OK;
}

bool ReadNginxUser(RequestContext& context) {
  const LocationConfig& location = context.location;
  if (location.user == nullptr) return true;
  ngx_http_request_t* request = context.request;
  bridge::RequestHead& head = context.head;
  const bool checked = request->headers_in.user.data != nullptr;
  if (!checked) ForgetValueOfRemoteUser(request);
  if (!Evaluate(request, location.user, auth::kUserIdBytesMax, head.user)) return false;
  if (location.user_claims != nullptr &&
      !Evaluate(request, location.user_claims, auth::kTokenBytesMax, head.user_claims.emplace())) {
    return false;
  }
  if (!checked && (context.names_user_early || request->headers_in.user.len > 0)) {
    head.user.clear();
    WarnAboutUncheckedPassword(request);
  }
  return true;
}

}  // namespace agent_graph::nginx
