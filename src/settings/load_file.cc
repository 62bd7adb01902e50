#include "settings/load_file.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "base/text_position.h"

namespace agent_graph::settings {
namespace {

Environment ProcessEnvironment() {
  Environment environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view pair(*variable);
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    environment[std::string(pair.substr(0, equals))] = pair.substr(equals + 1);
  }
  return environment;
}

}  // namespace

Result<Settings> LoadFile(const std::string& file) {
  std::error_code ignored;
  // The standard library throws when a folder is read.
  if (std::filesystem::is_directory(file, ignored)) {
    return InvalidArgument(file + ": cannot be read: it is a folder");
  }
  std::ifstream in(file, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  if (!in) return Status(StatusCode::kNotFound, file + ": cannot be read");
  auto loaded = Load(std::filesystem::absolute(file).string(), text, ProcessEnvironment());
  if (loaded.ok()) return loaded;
  return Status(loaded.status().code(), FileProblem(file, loaded.status()));
}

}  // namespace agent_graph::settings
