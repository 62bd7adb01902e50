#include "graph/load.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/errno_text.h"
#include "graph/content_hash.h"
#include "graph/declarative.h"
#include "graph/shared_object.h"

namespace agent_graph::graph {
namespace {

constexpr int64_t kDocumentBytesMax = 1024 * 1024;
constexpr int64_t kSharedObjectBytesMax = 256 * 1024 * 1024;

Status GraphStatus(std::string message) {
  return Status(StatusCode::kGraph, std::move(message));
}

// Owns the descriptor only when it opened it.
class File {
 public:
  File(const std::string& path, int fd) : fd_(fd), owned_(fd == kNoFile) {
    if (owned_) fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  }
  ~File() {
    if (owned_ && fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int fd() const { return fd_; }

  // By position: workers share the offset of an inherited descriptor.
  Result<std::string> Read(int64_t bytes_max) const {
    struct stat status{};
    if (fd_ < 0 || fstat(fd_, &status) != 0) {
      return GraphStatus("cannot be opened: " + ErrnoText(errno));
    }
    if (!S_ISREG(status.st_mode)) return GraphStatus("is not a regular file");
    if (status.st_size > bytes_max) {
      return GraphStatus("is larger than " + std::to_string(bytes_max) + " bytes");
    }
    std::string content(static_cast<size_t>(status.st_size), '\0');
    size_t done = 0;
    while (done < content.size()) {
      ssize_t count =
          pread(fd_, content.data() + done, content.size() - done, static_cast<off_t>(done));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return GraphStatus("cannot be read: " + ErrnoText(errno));
      if (count == 0) break;
      done += static_cast<size_t>(count);
    }
    content.resize(done);
    return content;
  }

 private:
  int fd_;
  bool owned_;
};

Status Build(const std::string& module, const std::string& attribute, const File& file,
             std::string& content, GraphBuilder& builder) {
  if (module.ends_with(".json")) {
    AG_ASSIGN_OR_RETURN(content, file.Read(kDocumentBytesMax));
    return ReadDocument(content, attribute, builder);
  }
  if (!module.ends_with(".so")) return GraphStatus("a graph's file ends in .so or .json");
  AG_ASSIGN_OR_RETURN(content, file.Read(kSharedObjectBytesMax));
  if (!content.starts_with("\177ELF")) return GraphStatus("is not a shared object");
  return BuildFromSharedObject(DescriptorPath(file.fd()), attribute, builder);
}

}  // namespace

Result<std::shared_ptr<const CompiledGraph>> LoadGraph(const std::string& module,
                                                       const std::string& attribute, int fd) {
  File file(module, fd);
  GraphBuilder builder;
  std::string content;
  Status status = Build(module, attribute, file, content, builder);
  if (!status.ok()) return GraphStatus(module + ": " + status.message());
  auto graph = CompiledGraph::Compile(builder, attribute, ContentHash(content));
  if (!graph.ok()) return GraphStatus(module + ": " + attribute + ": " + graph.status().message());
  return graph;
}

}  // namespace agent_graph::graph
