#include "cli/file_type.h"

#include <system_error>

namespace agent_graph::cli {

Result<std::filesystem::file_type> FileTypeOf(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_type type = std::filesystem::status(path, error).type();
  if (type != std::filesystem::file_type::none) return type;
  return Status(StatusCode::kNotFound, path.string() + ": cannot be read: " + error.message());
}

}  // namespace agent_graph::cli
