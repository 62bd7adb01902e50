#include <algorithm>
#include <exception>
#include <iterator>

#include "auth/user_code.h"
#include "graph/shared_object.h"

namespace agent_graph::auth {
namespace {

struct Kind {
  const char* symbol;  // prefix of the exported symbol
  uint64_t magic;
  const char* macro;
};

constexpr Kind kAuthentication = {"agent_graph_authentication_", kAuthenticationDescriptorMagic,
                                  "AGENT_GRAPH_EXPORT_AUTHENTICATION"};
constexpr Kind kAuthorization = {"agent_graph_authorization_", kAuthorizationDescriptorMagic,
                                 "AGENT_GRAPH_EXPORT_AUTHORIZATION"};

Status CompareAuthAbi(const AuthAbiRecord& backend, const AuthAbiRecord& server) {
  AG_RETURN_IF_ERROR(graph::CompareAbi(backend.graph, server.graph));
  if (std::equal(std::begin(backend.sizes), std::end(backend.sizes), std::begin(server.sizes))) {
    return Status::Ok();
  }
  return InvalidArgument("built with other type layouts than the server: compile it again");
}

template <typename Backend>
Result<std::shared_ptr<Backend>> Load(const settings::ExportSettings& source, const Kind& kind) {
  auto fail = [&](const std::string& reason) {
    return InvalidArgument(source.module + ": " + reason);
  };
  Result<const void*> symbol =
      graph::FindExport(source.module, source.copy, kind.symbol + source.attribute);
  if (!symbol.ok()) return fail(symbol.status().message());
  if (*symbol == nullptr) {
    return fail("exports no \"" + source.attribute + "\": it needs " + kind.macro + "(" +
                source.attribute + ", YourClass)");
  }
  const auto* descriptor = static_cast<const AuthDescriptor<Backend>*>(*symbol);
  if (descriptor->magic != kind.magic) {
    return fail("the export \"" + source.attribute + "\" is not a backend");
  }
  Status compared = CompareAuthAbi(descriptor->abi, CurrentAuthAbi());
  if (!compared.ok()) return fail(compared.message());
  try {
    std::shared_ptr<Backend> backend = descriptor->make();
    if (backend == nullptr) return fail("\"" + source.attribute + "\" returned no backend");
    return backend;
  } catch (const std::exception& exception) {
    return fail("\"" + source.attribute + "\" cannot be created: " + exception.what());
  } catch (...) {
    return fail("\"" + source.attribute + "\" cannot be created");
  }
}

}  // namespace

Result<std::shared_ptr<AuthenticationBackend>> LoadAuthenticationBackend(
    const settings::ExportSettings& source) {
  return Load<AuthenticationBackend>(source, kAuthentication);
}

Result<std::shared_ptr<AuthorizationBackend>> LoadAuthorizationBackend(
    const settings::ExportSettings& source) {
  return Load<AuthorizationBackend>(source, kAuthorization);
}

}  // namespace agent_graph::auth
