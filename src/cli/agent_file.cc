#include "cli/agent_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "agent_graph/json.h"
#include "base/configuration_json.h"
#include "base/text_position.h"
#include "cli/file_type.h"
#include "cli/templates.h"

namespace agent_graph::cli {
namespace {

using std::filesystem::file_type;

constexpr char kGraphNameDefault[] = "app";
constexpr char kServiceFile[] = "service.json";

Status Wrong(const std::string& text) {
  return Status(StatusCode::kNotFound, text);
}

Result<AgentFile> ReadJson(AgentFile file) {
  std::ifstream in(file.path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  if (!in) return Wrong(file.path + ": cannot be read");
  const Result<json> document = ParseConfigurationJson(text);
  if (!document.ok()) return Wrong(FileProblem(file.path, document.status()));
  if (!document->is_object()) return Wrong(file.path + ": must be a JSON object");
  // A graph may have the name "agent", too; then it is an object.
  file.is_service = std::filesystem::path(file.path).filename() == kServiceFile ||
                    (document->contains("agent") && !document->at("agent").is_object());
  if (file.is_service || !file.attributes.empty()) return file;
  // A graph without a name: the loader says that it needs one.
  if (document->contains("nodes") && document->contains("edges")) {
    file.attributes = {kGraphNameDefault};
    return file;
  }
  for (const auto& [key, value] : document->items()) {
    if (key != "$schema") file.attributes.push_back(key);
  }
  if (file.attributes.empty()) {
    return Wrong(file.path +
                 ": is neither a service.json, which has the key \"agent\", nor a graph");
  }
  return file;
}

}  // namespace

Result<AgentFile> ReadAgentFile(const std::string& name) {
  AgentFile file{.path = name};
  const size_t colon = name.rfind(':');
  AG_ASSIGN_OR_RETURN(file_type type, FileTypeOf(name));
  if (type == file_type::not_found && colon != std::string::npos) {
    file.path = name.substr(0, colon);
    file.attributes = {name.substr(colon + 1)};
    AG_ASSIGN_OR_RETURN(type, FileTypeOf(file.path));
  }
  if (type == file_type::directory) {
    file.path = (std::filesystem::path(file.path) / kServiceFile).string();
    AG_ASSIGN_OR_RETURN(type, FileTypeOf(file.path));
    if (type == file_type::not_found) {
      return Wrong(file.path + ": does not exist; " + kInitAdvice);
    }
  }
  if (type == file_type::not_found) return Wrong(file.path + ": does not exist");
  if (file.path.ends_with(".json")) return ReadJson(std::move(file));
  if (file.path.ends_with(".so")) {
    if (file.attributes.empty()) file.attributes = {kGraphNameDefault};
    return file;
  }
  if (file.path.ends_with(".cc") || file.path.ends_with(".cpp")) {
    return Wrong(file.path + ": is source code; compile it, and name the .so file");
  }
  return Wrong(file.path + ": is neither a .json file nor a compiled graph (.so)");
}

}  // namespace agent_graph::cli
