#include "ngx_module/directive_values.h"

#include <unistd.h>

#include <string>

#include "ngx_module/callback.h"

namespace agent_graph::nginx {
namespace {

constexpr char kNoTime[] = "is not a time such as 500ms, 30s or 10m";
constexpr char kNoSize[] = "is not a size such as 64k or 10m";
constexpr char kNotAboveZero[] = "must be above 0: a wait or buffer without a bound is not allowed";

template <typename Value>
Value& Field(void* conf, const ngx_command_t* command) {
  return *reinterpret_cast<Value*>(static_cast<char*>(conf) + command->offset);
}

const ngx_str_t& FirstArgument(const ngx_conf_t* cf) {
  return static_cast<ngx_str_t*>(cf->args->elts)[1];
}

char* ReadTime(ngx_conf_t* cf, ngx_msec_t& field, bool positive) {
  if (field != NGX_CONF_UNSET_MSEC) return const_cast<char*>("is duplicate");
  ngx_str_t text = FirstArgument(cf);
  const ngx_int_t value = ngx_parse_time(&text, 0);
  if (value == NGX_ERROR) return RefuseValue(cf, text, kNoTime);
  if (positive && value == 0) return RefuseValue(cf, text, kNotAboveZero);
  field = static_cast<ngx_msec_t>(value);
  return NGX_CONF_OK;
}

}  // namespace

char* RefuseValue(ngx_conf_t* cf, const ngx_str_t& value, const char* reason) noexcept {
  ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"%V\": \"%V\" %s",
                     static_cast<ngx_str_t*>(cf->args->elts), &value, reason);
  return static_cast<char*>(NGX_CONF_ERROR);
}

char* TimeDirective(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept {
  return ReadTime(cf, Field<ngx_msec_t>(conf, command), false);
}

char* PositiveTimeDirective(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept {
  return ReadTime(cf, Field<ngx_msec_t>(conf, command), true);
}

char* PositiveSizeDirective(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept {
  auto& field = Field<size_t>(conf, command);
  if (field != NGX_CONF_UNSET_SIZE) return const_cast<char*>("is duplicate");
  ngx_str_t text = FirstArgument(cf);
  const ssize_t value = ngx_parse_size(&text);
  if (value == NGX_ERROR) return RefuseValue(cf, text, kNoSize);
  if (value == 0) return RefuseValue(cf, text, kNotAboveZero);
  field = static_cast<size_t>(value);
  return NGX_CONF_OK;
}

char* ChoiceDirective(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept {
  return Guarded(cf->log, static_cast<char*>(NGX_CONF_ERROR), [&]() -> char* {
    auto& field = Field<ngx_uint_t>(conf, command);
    if (field != NGX_CONF_UNSET_UINT) return const_cast<char*>("is duplicate");
    const ngx_str_t& text = FirstArgument(cf);
    std::string names;
    for (auto* choice = static_cast<ngx_conf_enum_t*>(command->post); choice->name.len > 0;
         ++choice) {
      if (View(choice->name) == View(text)) {
        field = choice->value;
        return NGX_CONF_OK;
      }
      if (!names.empty()) names += ", ";
      names += View(choice->name);
    }
    return RefuseValue(cf, text, ("is not one of " + names).c_str());
  });
}

char* RefuseVariables(ngx_conf_t* cf, const ngx_str_t& value) noexcept {
  if (View(value).find('$') == std::string_view::npos) return NGX_CONF_OK;
  return RefuseValue(cf, value, "contains \"$\": variables are not possible here");
}

char* CheckFolder(ngx_conf_t* cf, const ngx_str_t& folder) noexcept {
  if (char* refused = RefuseVariables(cf, folder); refused != NGX_CONF_OK) return refused;
  if (View(folder) == "off") return NGX_CONF_OK;
  ngx_str_t path = folder;
  if (ngx_conf_full_name(cf->cycle, &path, 0) != NGX_OK) return static_cast<char*>(NGX_CONF_ERROR);
  if (access(reinterpret_cast<const char*>(path.data), R_OK | X_OK) != 0) {
    ngx_conf_log_error(NGX_LOG_WARN, cf, ngx_errno,
                       "\"%V\": the folder \"%V\" cannot be read, so its pages will be plain",
                       static_cast<ngx_str_t*>(cf->args->elts), &path);
  }
  return NGX_CONF_OK;
}

}  // namespace agent_graph::nginx
