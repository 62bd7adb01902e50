#include "graph/load.h"

#include <fcntl.h>

#include <cerrno>

#include "base/file_content.h"
#include "base/file_descriptor.h"
#include "base/text_position.h"
#include "graph/content_hash.h"
#include "graph/declarative.h"
#include "graph/shared_object.h"

namespace agent_graph::graph {
namespace {

constexpr int64_t kDocumentBytesMax = 1024 * 1024;
constexpr int64_t kSharedObjectBytesMax = 256 * 1024 * 1024;

Result<std::string> Read(const std::string& module, const SealedCopy& copy) {
  FileDescriptor opened;
  int fd = DescriptorOf(copy);
  if (copy == nullptr) {
    opened = FileDescriptor(open(module.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    fd = opened.get();
  }
  if (fd < 0) return GraphFailure(OpenProblem(module, errno));
  Result<std::string> content = ReadFileContent(fd, ModuleBytesMax(module));
  return content.ok() ? content : GraphFailure(content.status().message());
}

Status Build(const std::string& module, const std::string& attribute, const SealedCopy& copy,
             std::string& content, GraphBuilder& builder) {
  if (module.ends_with(".json")) {
    AG_ASSIGN_OR_RETURN(content, Read(module, copy));
    return ReadDocument(content, attribute, builder);
  }
  if (!module.ends_with(".so")) return GraphFailure("a graph's file ends in .so or .json");
  AG_ASSIGN_OR_RETURN(content, Read(module, copy));
  if (!content.starts_with("\177ELF")) return GraphFailure("is not a shared object");
  return BuildFromSharedObject(module, copy, attribute, builder);
}

}  // namespace

int64_t ModuleBytesMax(std::string_view module) {
  return module.ends_with(".json") ? kDocumentBytesMax : kSharedObjectBytesMax;
}

Result<std::shared_ptr<const CompiledGraph>> LoadGraph(const std::string& module,
                                                       const std::string& attribute,
                                                       const SealedCopy& copy) {
  GraphBuilder builder;
  std::string content;
  Status status = Build(module, attribute, copy, content, builder);
  if (!status.ok()) return GraphFailure(FileProblem(module, status));
  auto graph = CompiledGraph::Compile(builder, attribute, ContentHash(content));
  if (!graph.ok()) return GraphFailure(module + ": " + attribute + ": " + graph.status().message());
  return graph;
}

}  // namespace agent_graph::graph
