#include "service/copied_files.h"

#include <algorithm>
#include <array>
#include <string>

#include "auth/jwt.h"
#include "graph/load.h"

namespace agent_graph::service {
namespace {

template <typename Copy>
struct File {
  const char* name;  // the key or variable that names the file
  const std::string& path;
  Copy& copy;
  int64_t bytes_max;
};

// Returns one row for each file that the settings name. `AnySettings` is Settings, const or not.
template <typename AnySettings>
auto FilesOf(AnySettings& settings) {
  auto code = [](const char* name, auto& source) {
    return File{name, source.module, source.copy, graph::ModuleBytesMax(source.module)};
  };
  auto& authentication = settings.authentication;
  const bool key_set = !authentication.jwt.jwks_file.empty();
  return std::array{
      code("agent", settings.agent),
      code("auth.path", authentication.backend),
      code("authorization", settings.authorization.backend),
      code("thread_name_generator", settings.thread_names.function),
      File{key_set ? "JWT_JWKS_FILE" : "JWT_PUBLIC_KEY_FILE",
           key_set ? authentication.jwt.jwks_file : authentication.jwt.public_key_file,
           authentication.jwt.key_copy, auth::kKeyFileBytesMax},
  };
}

}  // namespace

Status CopyFiles(settings::Settings& settings, SealedCopies& copies) {
  for (const auto& file : FilesOf(settings)) {
    if (file.path.empty()) continue;
    Result<SealedCopy> copy = copies.Of(file.path, file.bytes_max);
    if (!copy.ok()) {
      return Status(StatusCode::kInvalidArgument,
                    std::string(file.name) + ": " + copy.status().message());
    }
    file.copy = *std::move(copy);
  }
  return Status::Ok();
}

std::vector<int> CopyDescriptors(const settings::Settings& settings) {
  std::vector<int> descriptors;
  for (const auto& file : FilesOf(settings)) {
    AppendDescriptors(file.copy, descriptors);
  }
  std::ranges::sort(descriptors);
  const auto repeated = std::ranges::unique(descriptors);
  descriptors.erase(repeated.begin(), repeated.end());
  return descriptors;
}

}  // namespace agent_graph::service
