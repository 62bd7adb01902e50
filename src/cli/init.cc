// agent-graph init: a folder with a working agent.
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "cli/command.h"
#include "cli/file_type.h"
#include "cli/installation.h"
#include "cli/templates.h"

namespace agent_graph::cli {
namespace {

namespace fs = std::filesystem;

constexpr Option kInitOptions[] = {
    {.name = "cpp", .help = "the graph in C++ instead of JSON"},
};

Status WriteFile(const fs::path& path, std::string_view content) {
  std::ofstream out(path, std::ios::binary);
  out << content;
  out.close();
  if (out) return Status::Ok();
  return Status(StatusCode::kUnavailable, path.string() + ": cannot be written");
}

void PrintNextSteps(const std::string& directory, bool cpp, std::FILE* out) {
  std::fprintf(out, "%s has an agent now. Next:\n\n  cd %s\n", directory.c_str(),
               directory.c_str());
  if (cpp) {
    const std::string headers = SdkHeaders();
    std::fprintf(out, "  g++ -std=c++20 -O2 -fPIC -shared %sagent.cc -o agent.so\n",
                 headers.empty() ? "" : ("-I" + headers + " ").c_str());
  }
  std::fputs(
      "  agent-graph run      # serves it on http://127.0.0.1:8000\n"
      "  agent-graph chat     # in another terminal\n",
      out);
}

Status RunInit(const Arguments& arguments, const Streams& streams) {
  const std::string& directory = arguments.operands()[0];
  const bool cpp = arguments.Has("cpp");
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    return Status(StatusCode::kUnavailable, directory + ": cannot be created: " + error.message());
  }
  const std::vector<TemplateFile> files = AgentTemplate(cpp);
  for (const TemplateFile& file : files) {
    const fs::path path = fs::path(directory) / file.name;
    AG_ASSIGN_OR_RETURN(const fs::file_type type, FileTypeOf(path));
    if (type != fs::file_type::not_found) {
      return Status(
          StatusCode::kConflict,
          path.string() + " exists already, and nothing was written: choose another folder");
    }
  }
  for (const TemplateFile& file : files) {
    AG_RETURN_IF_ERROR(WriteFile(fs::path(directory) / file.name, file.content));
  }
  PrintNextSteps(directory, cpp, streams.out);
  return Status::Ok();
}

}  // namespace

const Command kInitCommand = {
    .name = "init",
    .operands = "DIRECTORY",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "creates a folder with a working agent",
    .help =
        "Writes service.json, a graph, nginx.conf and README.md. Files that exist are never\n"
        "replaced.\n",
    .options = kInitOptions,
    .run = RunInit,
};

}  // namespace agent_graph::cli
