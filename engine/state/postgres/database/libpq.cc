#include "state/postgres/database/libpq.h"

#include <dlfcn.h>

#include <string>

namespace agent_graph::state::postgres {
namespace {

constexpr char kLibrary[] = "libpq.so.5";

Status NotUsable(const std::string& reason) {
  Status status(StatusCode::kNotConfigured,
                std::string("PostgreSQL needs the library ") + kLibrary + " (package libpq5)");
  return status.WithDetail(reason);
}

Result<Libpq> Load() {
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return NotUsable(dlerror());  // NOLINT: one text per thread
  Libpq libpq;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
#define AG_LIBPQ_FIND(name)                                                          \
  if (!find(libpq.name, #name)) {                                                    \
    return NotUsable("the installed version is too old: it has no function " #name); \
  }
  AG_LIBPQ_FUNCTIONS(AG_LIBPQ_FIND)
#undef AG_LIBPQ_FIND
  return libpq;
}

}  // namespace

Result<const Libpq*> LoadLibpq() {
  static const Result<Libpq> libpq = Load();
  if (!libpq.ok()) return libpq.status();
  return &libpq.value();
}

}  // namespace agent_graph::state::postgres
