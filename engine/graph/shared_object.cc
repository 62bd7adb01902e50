#include "graph/shared_object.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "base/version.h"

namespace agent_graph::graph {
namespace {

static_assert(kSdkVersion == kVersionNumber,
              "agent_graph/version.h has another version than the CMake project");

std::string VersionText(uint32_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

// Names of C++ functions as they are written in the source: "_Z6Helperv" becomes "Helper()".
std::string Demangled(const std::string& text) {
  const size_t begin = text.find("_Z");
  if (begin == std::string::npos) return text;
  const size_t end = std::min(text.find_first_of(" \t", begin), text.size());
  const std::string name = text.substr(begin, end - begin);
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  if (demangled == nullptr) return text;
  return text.substr(0, begin) + demangled.get() + text.substr(end);
}

// The dynamic linker's error message, on one line and without the name of the file.
std::string LinkerProblem(const std::string& path) {
  const char* text = dlerror();  // NOLINT: the C library keeps one text per thread
  std::string problem = text == nullptr ? "unknown reason" : text;
  if (problem.starts_with(path + ": ")) problem.erase(0, path.size() + 2);
  std::replace(problem.begin(), problem.end(), '\n', ' ');
  problem = Demangled(problem);
  if (problem.find("undefined symbol") != std::string::npos &&
      problem.find("agent_graph") != std::string::npos) {
    problem += " (built against the headers of another version? compile it again)";
  }
  if (problem.starts_with("cannot dynamically load") ||
      problem.find("ET_DYN") != std::string::npos) {
    problem += " (link it with -shared)";
  }
  return problem;
}

bool IsIdentifier(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// The dynamic linker assumes that a known name is a known file, but descriptor numbers are reused
// for other files: so each load uses a different spelling of the path.
std::string DescriptorPath(int fd) {
  static std::atomic<unsigned> loads{0};
  return "/proc/self/fd/" + std::string(loads++, '/') + std::to_string(fd);
}

// A /proc path means nothing in a stack trace, and a debugger would find its own file there. The
// linker also keeps the old name.
void Rename(void* library, const std::string& origin) {
  link_map* loaded = nullptr;
  const int failed = dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&loaded));
  if (failed != 0 || loaded->l_name == origin) return;
  // Never freed: other threads may hold a pointer to it.
  if (char* name = strdup(origin.c_str())) loaded->l_name = name;
}

// Loads copies of libraries before the code that needs them. The dynamic linker takes a library
// that is loaded under the needed name; afterwards each gets the name of its file.
class Libraries {
 public:
  ~Libraries() {
    for (const auto& [library, origin] : loaded_) Rename(library, origin);
  }

  Status Load(const SealedFile& code) {
    for (const SealedLibrary& needed : code.libraries) {
      AG_RETURN_IF_ERROR(Load(*needed.copy));
      // A library of the server, or one that the server has loaded, comes first.
      if (dlopen(needed.name.c_str(), RTLD_LAZY | RTLD_NOLOAD) != nullptr) continue;
      const std::string path = DescriptorPath(DescriptorOf(needed.copy));
      void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) {
        return GraphFailure("cannot be loaded: " + needed.copy->origin + ": " +
                            LinkerProblem(path));
      }
      Rename(library, needed.name);
      loaded_.emplace_back(library, needed.copy->origin);
    }
    return Status::Ok();
  }

 private:
  std::vector<std::pair<void*, std::string>> loaded_;
};

Status CallBuilder(const GraphDescriptor& descriptor, const std::string& attribute,
                   GraphBuilder& builder) {
  try {
    descriptor.build(builder);
    return Status::Ok();
  } catch (const std::exception& error) {
    return GraphFailure("the build function of \"" + attribute + "\" failed: " + error.what());
  } catch (...) {
    return GraphFailure("the build function of \"" + attribute +
                        "\" failed with an exception that is not a std::exception");
  }
}

// Set once, in a process that only tries shared objects.
std::function<void(const std::string&)>& LoadingObserver() {
  static std::function<void(const std::string&)> observer;
  return observer;
}

}  // namespace

void ObserveLoading(std::function<void(const std::string& path)> observer) {
  LoadingObserver() = std::move(observer);
}

Status CompareAbi(const AbiRecord& graph, const AbiRecord& server) {
  const std::string kAgain = ": compile it again with the server's headers";
  if (graph.sdk_version / 100 != server.sdk_version / 100) {
    return GraphFailure("built with SDK " + VersionText(graph.sdk_version) + ", the server has " +
                        VersionText(server.sdk_version) + kAgain);
  }
  if (graph.libstdcxx_abi != server.libstdcxx_abi) {
    return GraphFailure(
        "built with another standard library ABI than the server (libstdc++ with "
        "_GLIBCXX_USE_CXX11_ABI=" +
        std::to_string(static_cast<int32_t>(server.libstdcxx_abi)) + ")");
  }
  if (graph.cxx_standard < server.cxx_standard) {
    return GraphFailure("built with C++ standard " + std::to_string(graph.cxx_standard) +
                        ", the server needs " + std::to_string(server.cxx_standard) +
                        " or later: compile it with -std=c++20");
  }
  if (graph.nlohmann_version != server.nlohmann_version) {
    return GraphFailure("built with nlohmann/json " + VersionText(graph.nlohmann_version) +
                        ", the server has " + VersionText(server.nlohmann_version));
  }
  if (graph.record_bytes != server.record_bytes ||
      !std::equal(std::begin(graph.sizes), std::end(graph.sizes), std::begin(server.sizes))) {
    return GraphFailure("built with other type layouts than the server" + kAgain);
  }
  return Status::Ok();
}

Result<const void*> FindExport(const std::string& path, const SealedCopy& copy,
                               const std::string& symbol) {
  if (LoadingObserver()) LoadingObserver()(path);
  Libraries libraries;
  if (copy != nullptr) AG_RETURN_IF_ERROR(libraries.Load(*copy));
  // dlopen searches for a name without a slash in the folders of the system.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  const std::string name = copy == nullptr ? file : DescriptorPath(DescriptorOf(copy));
  // Never closed: threads, static objects and exceptions of the graph may exist longer than we can
  // know.
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return GraphFailure("cannot be loaded: " + LinkerProblem(name));
  if (copy != nullptr) Rename(library, copy->origin);
  return static_cast<const void*>(dlsym(library, symbol.c_str()));
}

Status BuildFromSharedObject(const std::string& path, const SealedCopy& copy,
                             const std::string& attribute, GraphBuilder& builder) {
  if (!IsIdentifier(attribute)) {
    return GraphFailure("\"" + attribute + "\" cannot be an export: letters, digits and _ only");
  }
  AG_ASSIGN_OR_RETURN(const void* symbol,
                      FindExport(path, copy, "agent_graph_export_" + attribute));
  const auto* descriptor = static_cast<const GraphDescriptor*>(symbol);
  if (descriptor == nullptr) {
    return GraphFailure("exports no graph \"" + attribute + "\": it needs AGENT_GRAPH_EXPORT(" +
                        attribute + ", YourBuildFunction)");
  }
  if (descriptor->magic != kGraphDescriptorMagic) {
    return GraphFailure("the export \"" + attribute + "\" is not a graph");
  }
  AG_RETURN_IF_ERROR(CompareAbi(descriptor->abi, CurrentAbi()));
  return CallBuilder(*descriptor, attribute, builder);
}

}  // namespace agent_graph::graph
