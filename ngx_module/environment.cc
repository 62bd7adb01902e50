#include "ngx_module/environment.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "ngx_module/config.h"

extern "C" char** environ;

namespace agent_graph::nginx {
namespace {

// Variables that nginx itself passes to a new binary.
constexpr std::array<std::string_view, 4> kOfNginx = {"NGINX", "NGINX_BPF_MAPS", "SPARE", "TZ"};

// Variables that are kept for a new binary although no `env` directive lists them.
std::vector<std::string>& Unlisted() {
  static std::vector<std::string> names;
  return names;
}

// nginx stores only the name of the variable, also if `env` sets a value.
bool IsListed(const ngx_array_t& listed, std::string_view name) {
  auto* entries = static_cast<const ngx_str_t*>(listed.elts);
  return std::any_of(entries, entries + listed.nelts,
                     [name](const ngx_str_t& entry) { return View(entry) == name; });
}

}  // namespace

const settings::Environment& StartEnvironment() {
  static const settings::Environment environment = [] {
    settings::Environment all;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
      std::string_view text = *entry;
      size_t equals = text.find('=');
      if (equals == std::string_view::npos) continue;
      all.insert_or_assign(std::string(text.substr(0, equals)),
                           std::string(text.substr(equals + 1)));
    }
    return all;
  }();
  return environment;
}

bool KeepEnvironment(ngx_cycle_t* cycle) {
  auto* core = reinterpret_cast<ngx_core_conf_t*>(ngx_get_conf(cycle->conf_ctx, ngx_core_module));
  std::vector<std::string>& unlisted = Unlisted();
  unlisted.clear();
  const MainConfig* main = FindMainConfig(*cycle);
  if (main == nullptr || main->services->empty()) return true;
  for (const auto& [name, value] : StartEnvironment()) {
    if (name.empty() || std::ranges::count(kOfNginx, name) > 0 || IsListed(core->env, name)) {
      continue;
    }
    ngx_str_t kept = CopyToPool(cycle->pool, name);
    auto* entry = static_cast<ngx_str_t*>(ngx_array_push(&core->env));
    if (kept.data == nullptr || entry == nullptr) return false;
    *entry = kept;
    unlisted.push_back(name);
  }
  return true;
}

void DropEnvironment() {
  for (const std::string& name : Unlisted())
    unsetenv(name.c_str());  // NOLINT: no other threads yet
}

}  // namespace agent_graph::nginx
